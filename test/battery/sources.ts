import { readArguments, toChoice, toPositive } from '../../build/tool-arguments.ts'
import { toTable } from '../../src/server/terminal.ts'
import { FAULTS, HARMLESS } from '../../src/simulator/faults.ts'
import { type FaultReport, playFault, type Trial } from './source-fault.ts'
import { type FlapReport, playFlap } from './source-flap.ts'

/** An unusual answer is not a failure, so it is left out; `gone` needs no stand-in. */
const TRIALS: readonly Trial[] = ['gone', ...FAULTS.filter((fault) => !HARMLESS.includes(fault))]

const HELP = `npm run battery:sources -- [options]

Callers of a server whose first vendor fails in every way, and one whose first vendor hangs now and then.

  --fault NAME  only this fault; may be repeated: ${TRIALS.join(', ')}
  --flap        only the vendor that hangs now and then
  --seconds N   for each (default 12; at least 60 for the vendor that hangs)`

const { values } = readArguments(HELP, {
  fault: { type: 'string', multiple: true },
  flap: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '12' },
})
toPositive('--seconds', values.seconds)
const chosen = values.fault?.map((name) => toChoice('--fault', name, TRIALS)) ?? TRIALS
/** High and low rate: at a low rate a larger share of the requests meets a hang. */
const FLAP_RATES = [50, 2]
const FLAP_EVERY_MS = 5000

const rows = [
  [
    'the first source',
    'asked',
    '200',
    'slowest',
    'added p50',
    'added p99',
    'added most',
    'alone',
    'slowest',
    'memory',
  ],
]
let faults = 0
for (const trial of values.flap ? [] : chosen) {
  const report = await playFault(trial, Number(values.seconds) * 1000)
  rows.push(toRow(report))
  console.log(`${new Date().toISOString().slice(11, 19)}  ${trial}: ${report.faults.join('; ') || 'sound'}`)
  faults += report.faults.length
}
if (!values.flap) {
  console.log(`\n${toTable(rows)}\n`)
  console.log('added: time above the median with both sources well, once the breaker is open (ms)')
  console.log('alone: what callers got when there was no second source')
}
if (values.flap || !values.fault) faults += await playFlaps()
if (faults > 0) process.exitCode = 1

/** The first source hangs every other five seconds. */
async function playFlaps(): Promise<number> {
  const reports: FlapReport[] = []
  for (const rate of FLAP_RATES)
    reports.push(
      await playFlap({ rate, everyMs: FLAP_EVERY_MS, forMs: Math.max(60, Number(values.seconds)) * 1000 }),
    )
  const head = ['requests/s', 'asked', '200', 'p50', 'p99', 'slowest', 'calls to the first', 'to the second']
  const lines = reports.map(({ rate, asked, verified, p50, p99, slowestMs, calls }) => [
    String(rate),
    String(asked),
    String(verified),
    ...[p50, p99, slowestMs].map((ms) => ms.toFixed(0)),
    String(calls.first),
    String(calls.second),
  ])
  console.log(
    `\nThe first source hangs every other ${FLAP_EVERY_MS / 1000} seconds, the second is well (ms):`,
  )
  console.log(`\n${toTable([head, ...lines])}\n`)
  const found = reports.flatMap(({ faults: each }) => each)
  if (found.length > 0) console.log(found.join('\n'))
  return found.length
}

function toRow({ trial, together, open, alone, grownMb }: FaultReport): string[] {
  const ms = (value: number) => value.toFixed(0)
  return [
    trial,
    String(together.asked),
    `${((100 * together.verified) / together.asked).toFixed(1)} %`,
    ms(together.slowestMs),
    ms(open.p50),
    ms(open.p99),
    ms(open.most),
    alone.statuses.join(' '),
    ms(alone.slowestMs),
    `${grownMb >= 0 ? '+' : ''}${grownMb.toFixed(0)} MB`,
  ]
}
