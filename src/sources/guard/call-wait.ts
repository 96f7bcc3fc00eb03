import type { SourceError } from '../source.ts'
import type { Breaker, CallResult } from './breaker.ts'
import type { HedgeDelay } from './hedge-delay.ts'

/** A probe of a failing source: the next source is queried as well after this time. */
const PROBE_MS = 200

type Options = {
  readonly admitted: 'usual' | 'probe'
  readonly breaker: Breaker
  readonly hedgeDelay: Pick<HedgeDelay, 'remainingMs'>
  /** Another call about this person hung before. */
  readonly isRepeatedHang: () => boolean
  readonly now: () => number
}

/** One call as the breaker sees it: when to hedge, and the result. It counts as one hang at most. */
export function createCallWait({ admitted, breaker, hedgeDelay, isRepeatedHang, now }: Options) {
  const startedAt = now()
  let hasHung = false
  const recordHang = () => {
    // For a probe, only its result counts.
    if (hasHung || admitted === 'probe') return
    hasHung = true
    if (!isRepeatedHang()) breaker.recordHang()
  }
  return {
    hedgeAfterMs: (): number =>
      admitted === 'probe'
        ? startedAt + PROBE_MS - now()
        : hedgeDelay.remainingMs(startedAt, breaker.isSuspect()),
    recordHang,
    /** `counts`: the breaker counts the failure. */
    settle: (failure: SourceError | undefined, counts: boolean): void => {
      if (failure?.reason === 'timeout' && counts) recordHang()
      if (failure && !counts) breaker.release(admitted)
      else breaker.settle(admitted, toCallResult(failure))
    },
  }
}

function toCallResult(failure: SourceError | undefined): CallResult {
  if (!failure) return 'success'
  return failure.reason === 'timeout' ? 'timeout' : 'failure'
}
