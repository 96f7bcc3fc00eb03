import { fork } from 'node:child_process'
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { readArguments, refuse, toChoice, toPositive } from '../../build/tool-arguments.ts'
import { toTable } from '../../src/server/terminal.ts'
import { whyNoPostgres } from '../postgres.ts'
import { drawSoak } from './soak-chart.ts'
import { isWithin, judge, type Verdict } from './soak-judge.ts'
import type { Engine, LaneReport, Message, Order } from './soak-lane.ts'

const HELP = `npm run soak -- [options]

Hours at half of the capacity, with vendors that flap, batches, webhooks, pruning, archives, backups and the search for damage,
on both databases at the same time. Fails if memory, descriptors, the write-ahead log or the p99 of the last quarter are more than
1.1 times those of the second, or if the log lacks what callers were told.

  --hours N     how long (default 2)
  --minutes N   how long, instead of hours
  --only NAME   sqlite or postgres
  --max-rate N  at most so many requests a second
  --out FOLDER  where to write soak.json and soak.svg (default: here); it is made if there is none`

const { values } = readArguments(HELP, {
  hours: { type: 'string', default: '2' },
  minutes: { type: 'string' },
  only: { type: 'string' },
  'max-rate': { type: 'string' },
  out: { type: 'string', default: '.' },
})
const minutes =
  values.minutes === undefined
    ? 60 * toPositive('--hours', values.hours)
    : toPositive('--minutes', values.minutes)
const ms = minutes * 60_000
const ENGINES = ['sqlite', 'postgres'] as const
const engines = values.only === undefined ? ENGINES : [toChoice('--only', values.only, ENGINES)]
const maxRate =
  values['max-rate'] === undefined ? Number.POSITIVE_INFINITY : toPositive('--max-rate', values['max-rate'])
const missing = engines.includes('postgres') ? whyNoPostgres() : undefined
if (missing !== undefined) refuse(missing)
// Before the hours.
try {
  mkdirSync(values.out, { recursive: true })
  accessSync(values.out, constants.W_OK)
} catch (error) {
  refuse(`--out ${values.out} is no folder that can be written (${(error as NodeJS.ErrnoException).code}).`)
}

const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`)
const lanes = await Promise.all(engines.map(openLane))
say('measuring the capacity')
const capacities = await Promise.all(lanes.map(({ measure }) => measure()))
const rates = capacities.map((capacity) => Math.min(Math.round(capacity / 2), maxRate))
for (const [at, engine] of engines.entries())
  say(
    `${engine}: ${capacities[at]?.toFixed(0)} answers/s at most, ${rates[at]} requests/s for ${ms / 60_000} minutes`,
  )
const loads = watchMachine()
const reports = await Promise.all(lanes.map(({ run }, at) => run(rates[at] ?? 0)))
loads.stop()

const verdicts = reports.map((report) => ({ report, rows: judge(report.samples) }))
const date = new Date().toISOString().slice(0, 10)
const summary = { date, minutes: ms / 60_000, capacities, machineLoad: loads.list, reports }
writeFileSync(join(values.out, 'soak.json'), `${JSON.stringify(summary)}\n`)
writeFileSync(join(values.out, 'soak.svg'), drawSoak(reports))
for (const { report, rows } of verdicts) print(report, rows)
say(`the load of the machine was ${Math.min(...loads.list)} to ${Math.max(...loads.list)}`)
say(`written: ${join(values.out, 'soak.json')}, ${join(values.out, 'soak.svg')}`)
const isSound = verdicts.every(({ report, rows }) => report.faults.length === 0 && rows.every(isWithin))
if (!isSound) process.exitCode = 1

/** A process for each database. */
async function openLane(engine: Engine) {
  const child = fork(join(import.meta.dirname, 'soak-lane.ts'), [engine, String(ms), values.out])
  const [ready, capacity, report] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<number>(),
    Promise.withResolvers<LaneReport>(),
  ]
  child.on('message', (message: Message) => {
    if ('say' in message) say(message.say)
    else if ('ready' in message) ready.resolve()
    else if ('capacity' in message) capacity.resolve(message.capacity)
    else report.resolve(message.report)
  })
  const ended = new Error(`the process of ${engine} ended early`)
  child.on('exit', () => [ready, capacity, report].map(({ reject }) => reject(ended)))
  const order = (message: Order) => void child.send(message)
  await ready.promise
  return {
    measure: async () => {
      order({ order: 'measure' })
      return capacity.promise
    },
    run: async (rate: number) => {
      order({ order: 'run', rate, ms })
      return report.promise
    },
  }
}

/** The load of the machine every minute: what else ran on it. */
function watchMachine() {
  const list: number[] = []
  const look = () => list.push(Number((loadavg()[0] ?? 0).toFixed(1)))
  look()
  const timer = setInterval(look, 60_000)
  return { list, stop: () => clearInterval(timer) }
}

function print({ engine, codes, figures, faults }: LaneReport, rows: readonly Verdict[]): void {
  const head = [engine, 'quarter 1', 'quarter 2', 'quarter 3', 'quarter 4', '4 / 2', '']
  const lines = rows.map((row) => [
    row.name,
    ...row.quarters.map((each) => each.toFixed(row.digits)),
    row.ratio.toFixed(2),
    isWithin(row) ? '' : 'GREW',
  ])
  console.log(`\n${toTable([head, ...lines])}`)
  const show = (list: object) =>
    Object.entries(list)
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ')
  console.log(`answers: ${show(codes)}\n${show(figures)}`)
  for (const fault of faults) console.log(`FAULT ${fault}`)
}
