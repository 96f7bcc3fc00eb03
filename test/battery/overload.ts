import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CURRENT } from '../../bench/checkout.ts'
import { bind, cores } from '../../bench/cores.ts'
import { sendOnce } from '../../bench/load/request-spec.ts'
import { readCpuSeconds, readMemoryBytes } from '../../bench/processes.ts'
import type { Server } from '../../bench/servers/server.ts'
import { startTabbat, toMain, VERIFICATIONS } from '../../bench/servers/tabbat.ts'
import { readArguments, refuse, toPositive } from '../../build/tool-arguments.ts'
import { toTable } from '../../src/server/terminal.ts'
import type { Load, Loaded } from './overload-load.ts'

const HELP = `npm run battery:overload -- [options]

Goodput under more load than the server can serve.

  --seconds N  for each trial (default 6)
  --only TEXT  trials whose name contains this text
  --json       print the figures as JSON, one line for each trial`

const { values } = readArguments(HELP, {
  seconds: { type: 'string', default: '6' },
  only: { type: 'string', default: '' },
  json: { type: 'boolean', default: false },
})
const seconds = toPositive('--seconds', values.seconds)

/**
 * What callers do. Without `times` each connection asks again as soon as it is answered (a closed loop), on 5 and 10 times as
 * many connections as requests may be under way. With `times` requests are due at that multiple of the capacity, measured as
 * answers a second on 64 connections. Each takes an idle connection; HTTP/1.1 carries one at a time, so what is due while all
 * are busy is `unsent`.
 */
type Trial = {
  readonly name: string
  readonly connections: number
  readonly times?: number
  readonly cap?: number
  readonly wanted?: Wanted
}

type Wanted = { share: number; shedMs: number; recoveryMs: number; grownMb: number; otherMs: number }

/** Enough clients to saturate the server. */
const FULL = 64

/** The targets of a trial. */
const WANTED: Wanted = { share: 0.8, shedMs: 50, recoveryMs: 2000, grownMb: 400, otherMs: 250 }

/** 60 callers for each request in flight: a few wait for their turn for 1.5 s, and are refused then. */
const QUEUE: Wanted = { ...WANTED, shedMs: 2000 }

/**
 * 10 000 callers that give up after 2 s ask for more than one processor can answer or refuse meanwhile: 4 500 answers a second
 * and a refusal of each other request within 50 ms would be 100 000 refusals a second.
 */
const CROWD: Wanted = { share: 0.6, shedMs: 2000, recoveryMs: 4000, grownMb: 400, otherMs: 1000 }

const TRIALS: readonly Trial[] = [
  { name: 'cap 64, 320 callers', connections: 320, cap: 64 },
  { name: 'cap 64, 640 callers', connections: 640, cap: 64 },
  { name: 'cap 64, 3840 callers', connections: 3840, cap: 64, wanted: QUEUE },
  { name: '5 times the cap', connections: 5000 },
  { name: '10 times the cap', connections: 10_000, wanted: CROWD },
  { name: '5 times the rate', connections: 1000, times: 5 },
  { name: '10 times the rate', connections: 1000, times: 10 },
]
const chosen = TRIALS.filter(({ name }) => name.includes(values.only))
if (chosen.length === 0)
  refuse(`No trial has a name with "${values.only}": ${TRIALS.map(({ name }) => name).join('; ')}.`)

const HEADING = [
  'trial',
  'capacity/s',
  'sent/s',
  '200/s',
  'of capacity',
  '503/s',
  ...['200 p50', 'p99', '503 p50', 'p99'],
  ...['late', 'broken', 'unsent', 'other', 'memory', 'recovery'],
  ...['another key p50', 'refused'],
]

type Report = {
  readonly trial: string
  readonly wanted: Wanted
  readonly loaded: Loaded
  readonly goodput: number
  readonly share: number
  readonly grownMb: number
  readonly recoveryMs: number
  readonly bystander: Bystander
}

/** A second key that sends one request after the other, on one connection, during the load. */
type Bystander = { readonly p50: number; readonly refused: number }

const folder = mkdtempSync(join(tmpdir(), 'tabbat-overload-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

let capacity = 0
const reports: Report[] = []
for (const trial of chosen) reports.push(await play(trial))
if (!values.json) process.stdout.write(`\n${toTable([HEADING, ...reports.map(toRow)])}\n`)
if (reports.some((report) => toFaults(report).length > 0)) process.exitCode = 1

/** Each trial has its own server, warmed up by measuring its capacity. */
async function play({ name, connections, times, cap, wanted = WANTED }: Trial): Promise<Report> {
  const env = cap === undefined ? {} : { TABBAT_MAX_IN_FLIGHT: String(cap) }
  const dataDir = join(folder, String(reports.length))
  const server = await startTabbat({ dataDir, env })
  try {
    await load({ port: server.port, connections: FULL, rate: 0, seconds: 2 })
    const calm = await measureCalm(server)
    capacity = calm.rate
    const memory = watchMemory(server)
    const rate = times === undefined ? 0 : Math.round(times * capacity)
    const usedBefore = readCpuSeconds(server.pid)
    const bystander = await watchBystander(server, createOtherKey(dataDir))
    const loaded = await load({ port: server.port, connections, rate, seconds })
    const seen = await bystander.stop()
    const used = readCpuSeconds(server.pid) - usedBefore
    const recoveryMs = await recover(server)
    capacity = (capacity + (await measureCalm(server)).rate) / 2
    const goodput = loaded.good / loaded.seconds
    const report = {
      trial: name,
      wanted,
      loaded,
      goodput,
      share: goodput / capacity,
      grownMb: memory.stop(),
      recoveryMs,
      bystander: seen,
    }
    const line = { ...report, capacity, used, costUs: calm.costUs, faults: toFaults(report) }
    process.stdout.write(
      values.json ? `${JSON.stringify(line)}\n` : `${name}: ${line.faults.join(', ') || 'as wanted'}\n`,
    )
    return report
  } finally {
    await server.stop()
  }
}

/** Capacity, and processor time of one answer (all threads). */
async function measureCalm({ port, pid }: Server): Promise<{ rate: number; costUs: number }> {
  const before = readCpuSeconds(pid)
  const { good, seconds: taken } = await load({ port, connections: FULL, rate: 0, seconds: 3 })
  // The clients do not count the first second.
  const costUs = ((readCpuSeconds(pid) - before) / (good / taken) / (taken + 1)) * 1e6
  return { rate: good / taken, costUs }
}

async function load(what: Load): Promise<Loaded> {
  const script = join(import.meta.dirname, 'overload-load.ts')
  const [command, args] = bind(cores.generator, [process.execPath, script, JSON.stringify(what)])
  const { stdout } = await promisify(execFile)(command, args)
  return JSON.parse(stdout) as Loaded
}

/** Time from the end of the load until twenty requests in a row were answered with 200 within 100 ms each. */
async function recover({ port }: Server): Promise<number> {
  const startedAt = performance.now()
  for (let inARow = 0; inARow < 20; ) {
    const askedAt = performance.now()
    const { status } = await sendOnce(port, VERIFICATIONS['verify-nin'], inARow)
    inARow = status === 200 && performance.now() - askedAt < 100 ? inARow + 1 : 0
    if (performance.now() - startedAt > 30_000) break
    await wait(5)
  }
  return performance.now() - startedAt
}

function createOtherKey(dataDir: string): string {
  const args = [
    toMain(CURRENT),
    'keys',
    'create',
    '--mode',
    'test',
    '--name',
    'another',
    '--data-dir',
    dataDir,
  ]
  const printed = execFileSync(process.execPath, args, { cwd: dataDir, encoding: 'utf8', stdio: 'pipe' })
  return /tbt_test_\w+/.exec(printed)?.[0] ?? ''
}

async function watchBystander({ port }: Server, key: string): Promise<{ stop: () => Promise<Bystander> }> {
  const spec = { ...VERIFICATIONS['verify-nin'], key }
  const times: number[] = []
  let [isOver, refused] = [false, 0]
  const ask = async () => {
    const askedAt = performance.now()
    const { status } = await sendOnce(port, spec, times.length)
    if (status !== 200) refused += 1
    times.push(performance.now() - askedAt)
  }
  await ask()
  times.length = 0
  const run = async () => {
    while (!isOver) {
      await ask()
      await wait(20)
    }
  }
  const running = run()
  return {
    stop: async () => {
      isOver = true
      await running
      return { p50: Math.round(times.sort((a, b) => a - b)[times.length >> 1] ?? 0), refused }
    },
  }
}

function watchMemory({ pid }: Server): { readonly stop: () => number } {
  const before = readMemoryBytes(pid)
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, readMemoryBytes(pid))
  }, 250)
  return {
    stop: () => {
      clearInterval(timer)
      return (most - before) / 1e6
    },
  }
}

function toFaults({ wanted, share, loaded, grownMb, recoveryMs, bystander }: Report): string[] {
  const { shed, shedMs } = loaded
  return [
    ...(share < wanted.share ? [`goodput ${(100 * share).toFixed(1)} % of capacity`] : []),
    ...(shed > 0 && shedMs.p99 > wanted.shedMs ? [`sheds take ${shedMs.p99} ms`] : []),
    ...(grownMb > wanted.grownMb ? [`memory grew by ${grownMb.toFixed(0)} MB`] : []),
    ...(bystander.p50 > wanted.otherMs ? [`another key waits ${bystander.p50} ms`] : []),
    ...(bystander.refused > 0 ? [`another key was refused ${bystander.refused} times`] : []),
    ...(recoveryMs > wanted.recoveryMs ? [`back after ${recoveryMs.toFixed(0)} ms`] : []),
  ]
}

function toRow({ trial, loaded, goodput, share, grownMb, recoveryMs, bystander }: Report): string[] {
  const perSecond = (count: number) => (count / loaded.seconds).toFixed(0)
  const { sent, shed, late, broken, unsent, other, goodMs, shedMs } = loaded
  return [
    trial,
    (goodput / share).toFixed(0),
    perSecond(sent),
    goodput.toFixed(0),
    `${(100 * share).toFixed(1)} %`,
    perSecond(shed),
    ...[goodMs.p50, goodMs.p99, shedMs.p50, shedMs.p99].map((ms) => `${ms} ms`),
    ...[late, broken, unsent, other].map(String),
    `${grownMb >= 0 ? '+' : ''}${grownMb.toFixed(0)} MB`,
    `${recoveryMs.toFixed(0)} ms`,
    ...[`${bystander.p50} ms`, String(bystander.refused)],
  ]
}
