import { toTable } from '../../src/server/terminal.ts'
import type { Seen, Traffic } from '../cluster/traffic.ts'
import type { Scenario } from './cluster-scenarios.ts'

/** What a scenario did to callers. */
export type ScenarioReport = {
  readonly scenario: string
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly lost: number
  readonly doubled: number
  readonly falseAnswers: number
  /** The longest time without any answered verification. */
  readonly outageMs: number
  /** From the event to the last request that failed. */
  readonly lastFailureMs: number
  /** The longest time that a caller waited. */
  readonly longestHoldMs: number
  /** Answers by kind. */
  readonly seen: Readonly<Record<string, number>>
}

/** TABBAT_STORE_TIMEOUT: see src/database/time-limits.ts. */
const MAX_HELD_MS = 5000

export function toScenarioReport(
  { name, backWithinMs, isUnnoticed }: Scenario,
  { seen, failures }: Traffic,
  struckAt: number,
  ledgerFaults: readonly string[],
): ScenarioReport {
  const failed = failures()
  const [outageMs, lastFailureMs] = [toOutage(seen, struckAt), Math.max(0, seen.lastFailureAt - struckAt)]
  const faults = [
    ...ledgerFaults,
    ...seen.falseAnswers.map((answer) => `a false answer: ${answer}`),
    ...Object.keys(failed).filter((what) => isUnnoticed || / 500|not JSON/.test(what)),
    ...(Math.max(outageMs, lastFailureMs) > backWithinMs ? [`not back within ${backWithinMs} ms`] : []),
    ...(seen.longest.ms > MAX_HELD_MS
      ? [`held ${Math.round(seen.longest.ms)} ms: ${seen.longest.kind}`]
      : []),
  ]
  const count = (pattern: RegExp) => ledgerFaults.filter((fault) => pattern.test(fault)).length
  return {
    scenario: name,
    faults,
    acknowledged: seen.answeredAt.length,
    lost: count(/lost|without a row/),
    doubled: count(/executed|twice/),
    falseAnswers: seen.falseAnswers.length,
    ...{ outageMs, lastFailureMs, longestHoldMs: seen.longest.ms },
    seen: failed,
  }
}

/** The longest pause between two answers after this time. */
function toOutage({ answeredAt }: Seen, since: number): number {
  let longest = 0
  let before = since
  for (const at of answeredAt) {
    if (at < since) continue
    longest = Math.max(longest, at - before)
    before = at
  }
  return longest
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

const HEADING = [
  ...['scenario', 'acknowledged', 'lost', 'doubled', 'false'],
  ...['without answers', 'last failure after', 'longest hold', 'callers saw besides 200 and 422'],
]

export const toReportTable = (reports: readonly ScenarioReport[]) =>
  toTable([
    HEADING,
    ...reports.map((report) => [
      report.scenario,
      ...[report.acknowledged, report.lost, report.doubled, report.falseAnswers].map(String),
      ...[report.outageMs, report.lastFailureMs, report.longestHoldMs].map(seconds),
      Object.entries(report.seen)
        .map(([what, count]) => `${count} × ${what}`)
        .join(', ') || 'nothing',
    ]),
  ])
