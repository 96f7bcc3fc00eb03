import { SourceError } from '../source.ts'
import { createHealth, type HealthFigures } from './health.ts'
import { createPatience, type Patience } from './patience.ts'
import {
  type CallOutcome,
  createSourceWarnings,
  type SourceWarnings,
  type WarningEvent,
} from './source-warnings.ts'

/** What the calls of one operation of a source came to. */
export type CallRecord = {
  readonly add: (outcome: CallOutcome, ms: number) => void
  readonly patience: Pick<Patience, 'leftMs'>
  readonly read: () => HealthFigures
  readonly warnings: SourceWarnings['list']
  /** How often each trouble was met since the start. */
  readonly failures: ReadonlyMap<string, number>
}

type Options = {
  readonly now: () => number
  readonly onWarning: (event: WarningEvent) => void
}

export function createCallRecord({ now, onWarning }: Options): CallRecord {
  const health = createHealth(now)
  const patience = createPatience(now)
  const warnings = createSourceWarnings({ now, onEvent: onWarning })
  const failures = new Map<string, number>()
  return {
    add: (outcome, ms) => {
      const failure = outcome instanceof SourceError ? outcome : undefined
      // A call that our own deadline cut short says nothing about the source.
      if (failure?.fault === 'deadline') return
      health.record(!failure, ms)
      warnings.record(outcome)
      if (failure?.reason !== 'timeout') patience.answered()
      if (!failure) return patience.recordSuccess(ms)
      const reason = failure.trouble ?? failure.reason
      failures.set(reason, (failures.get(reason) ?? 0) + 1)
    },
    patience,
    read: health.read,
    warnings: warnings.list,
    failures,
  }
}
