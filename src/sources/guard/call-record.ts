import { SourceError } from '../source.ts'
import { createHealth, type HealthFigures } from './health.ts'
import { createHedgeDelay, type HedgeDelay } from './hedge-delay.ts'
import {
  type CallOutcome,
  createSourceWarnings,
  type SourceWarnings,
  type WarningEvent,
} from './source-warnings.ts'

/** The results of the calls to one operation of a source: health, warnings, failures. */
type CallRecord = {
  readonly add: (outcome: CallOutcome, ms: number, isOfSource: boolean) => void
  readonly addSkip: () => void
  readonly hedgeDelay: Pick<HedgeDelay, 'remainingMs'>
  readonly read: () => HealthFigures
  readonly warnings: SourceWarnings['list']
  /** How often each problem occurred since the start. */
  readonly failures: ReadonlyMap<string, number>
}

type Options = {
  readonly now: () => number
  readonly onWarning: (event: WarningEvent) => void
}

export function createCallRecord({ now, onWarning }: Options): CallRecord {
  const health = createHealth(now)
  const hedgeDelay = createHedgeDelay(now)
  const warnings = createSourceWarnings({ now, onEvent: onWarning })
  const failures = new Map<string, number>()
  return {
    add: (outcome, ms, isOfSource) => {
      const failure = outcome instanceof SourceError ? outcome : undefined
      // A call that our own deadline cut short says nothing about the source.
      if (failure?.fault === 'deadline') return
      health.record(!failure, ms, isOfSource)
      warnings.record(outcome)
      if (failure?.reason !== 'timeout') hedgeDelay.recordAnswer()
      if (!failure) return hedgeDelay.recordSuccess(ms)
      const reason = failure.problem ?? failure.reason
      failures.set(reason, (failures.get(reason) ?? 0) + 1)
    },
    addSkip: health.recordSkip,
    hedgeDelay,
    read: health.read,
    warnings: warnings.list,
    failures,
  }
}
