import { parseArgs } from 'node:util'
import { toTable } from '../../src/cli/terminal.ts'
import { FAULTS, HARMLESS } from '../vendors/faults.ts'
import { type FaultReport, playFault, type Trial } from './source-fault.ts'

/** npm run battery:sources -- --fault slow_headers --seconds 12 */
const { values } = parseArgs({
  options: { fault: { type: 'string', multiple: true }, seconds: { type: 'string', default: '12' } },
})

/** An unusual answer is no failure; a vendor that is not there is one that no server can play. */
const TRIALS: readonly Trial[] = ['gone', ...FAULTS.filter((fault) => !HARMLESS.includes(fault))]
const chosen = values.fault ? TRIALS.filter((trial) => values.fault?.includes(trial)) : TRIALS

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
for (const trial of chosen) {
  const report = await playFault(trial, Number(values.seconds) * 1000)
  rows.push(toRow(report))
  console.log(`${new Date().toISOString().slice(11, 19)}  ${trial}: ${report.faults.join('; ') || 'sound'}`)
  faults += report.faults.length
}
console.log(`\n${toTable(rows)}\n`)
console.log('added: time above the median with both sources well, once the breaker is open (ms)')
console.log('alone: what callers got when there was no second source')
if (faults > 0) process.exitCode = 1

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
