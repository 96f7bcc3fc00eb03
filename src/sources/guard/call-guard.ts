import type { ClaimId } from '../../store/idempotency-table.ts'
import { createCallWait } from '../call-wait.ts'
import { SourceError } from '../source.ts'
import { type BreakerState, createBreaker } from './breaker.ts'
import { createCallRecord } from './call-record.ts'
import type { HealthFigures } from './health.ts'
import { createHold, type Hold } from './hold.ts'
import { type CallOutcome, WARNING_REASONS } from './source-warnings.ts'

/**
 * Why a source was not asked at all. `retry_after`: the vendor wants no question before a certain time. `paid_calls`: the
 * Idempotency-Key of the request has used up its paid calls.
 */
export type SkipReason = 'disabled' | 'breaker_open' | 'spend_cap' | 'retry_after' | 'paid_calls'

/** The right to ask once. It must be settled or released, whatever comes. Neither keeps anybody waiting. */
export type Permit = {
  /** How much longer the call is waited for before the next source is asked beside it; 0 or less when that is over. */
  readonly hedgeAfterMs: () => number
  /** The call was not waited for any longer. */
  readonly recordHang: () => void
  readonly settle: (outcome: CallOutcome, ms: number) => void
  /** Nobody was asked after all, and nothing is paid for. */
  readonly release: () => void
}

/** Stands before one operation of an outside source and decides whether it may be asked now. */
export type CallGuard = {
  readonly name: string
  readonly operation: string
  readonly admit: (paidCalls?: PaidCalls) => Promise<Permit | SkipReason>
  readonly read: () => GuardFigures
  /** As far as is known without asking the store: not switched off, not failing, not to be left alone. */
  readonly isAvailable: () => boolean
  /** How long the vendor still wants to be left alone. Undefined when the source is switched off. */
  readonly retryAfterMs: () => number | undefined
  /** How often each trouble was met since the start. */
  readonly failures: () => ReadonlyMap<string, number>
}

export const SOURCE_WARNINGS = [...WARNING_REASONS, 'throttled'] as const
export type SourceWarning = (typeof SOURCE_WARNINGS)[number]

export type GuardFigures = HealthFigures & {
  readonly state: BreakerState | 'disabled'
  readonly warnings: readonly SourceWarning[]
}

/** For the log: names from closed lists only. */
export type GuardEvent = {
  readonly event: 'source_warning' | 'source_breaker'
  readonly reason: string
  readonly state: 'started' | 'continues' | 'ended' | 'open' | 'closed'
}

/** What all nodes must agree on; kept in the store. */
export type SharedState = {
  readonly isDisabled: (name: string) => boolean
  /** Counts the price of a call, and the call itself for the Idempotency-Key, if there is one. */
  readonly spend: (name: string, paidCalls?: PaidCalls) => Promise<Spending | 'spend_cap' | 'paid_calls'>
}

/** The paid calls of one Idempotency-Key. They are counted in the store before the call, for all nodes and after a crash. */
export type PaidCalls = {
  readonly claim: ClaimId
  readonly most: number
  /** So many were made, in this request and in those before it under the same key. */
  used: number
  /** Calls of this request that were not paid after all: being written. */
  readonly refunds: Promise<void>[]
}

/** Money that is counted as spent. Taking it back never fails: what cannot be written now is written later. */
export type Spending = { readonly refund: () => Promise<void> }

export type GuardOptions = {
  /** Shared by the operations of a source. */
  readonly hold?: Hold
  /** Monotonic. */
  readonly now?: () => number
  readonly onEvent?: ((event: GuardEvent) => void) | undefined
}

export function createCallGuard(
  name: string,
  operation: string,
  sharedState: SharedState,
  { now = () => performance.now(), hold = createHold(now), onEvent = () => {} }: GuardOptions = {},
): CallGuard {
  let lastTrouble = 'none'
  const breaker = createBreaker({
    now,
    onChange: (state) => onEvent({ event: 'source_breaker', reason: lastTrouble, state }),
  })
  const record = createCallRecord({
    now,
    onWarning: (warning) => onEvent({ event: 'source_warning', ...warning }),
  })
  const admitOnce = (admitted: 'usual' | 'probe', spending: Spending): Permit => {
    const { settle, noteHang, ...waiting } = createCallWait({
      admitted,
      breaker,
      patience: record.patience,
      now,
    })
    return {
      ...waiting,
      recordHang: () => {
        lastTrouble = 'too_slow'
        noteHang()
      },
      settle: (outcome, ms) => {
        const failure = outcome instanceof SourceError ? outcome : undefined
        lastTrouble = failure?.trouble ?? failure?.reason ?? lastTrouble
        settle(failure)
        record.add(outcome, ms)
        if (failure?.retryAfterMs !== undefined) hold.holdFor(failure.retryAfterMs)
        if (failure && !isPaid(failure)) void spending.refund()
      },
      release: () => {
        breaker.release(admitted)
        void spending.refund()
      },
    }
  }
  return {
    name,
    operation,
    admit: async (paidCalls) => {
      if (sharedState.isDisabled(name)) return 'disabled'
      if (hold.leftMs() > 0) return 'retry_after'
      const admitted = breaker.admit()
      if (admitted === undefined) return 'breaker_open'
      const spending = await sharedState.spend(name, paidCalls).catch((error) => {
        breaker.release(admitted)
        throw error
      })
      if (typeof spending !== 'string') return admitOnce(admitted, spending)
      breaker.release(admitted)
      return spending
    },
    isAvailable: () => !sharedState.isDisabled(name) && hold.leftMs() === 0 && breaker.state() !== 'open',
    retryAfterMs: () => (sharedState.isDisabled(name) ? undefined : hold.leftMs()),
    failures: () => record.failures,
    read: () => ({
      ...record.read(),
      state: sharedState.isDisabled(name) ? 'disabled' : breaker.state(),
      warnings: [...record.warnings(), ...(hold.leftMs() > 0 ? (['throttled'] as const) : [])],
    }),
  }
}

/** What never arrived costs nothing, and neither does what was turned away at the door. */
export const isPaid = ({ sent, reason }: SourceError) =>
  sent && reason !== 'refused' && reason !== 'throttled'
