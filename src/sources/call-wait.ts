import type { Breaker, CallResult } from './guard/breaker.ts'
import type { Patience } from './guard/patience.ts'
import type { SourceError } from './source.ts'

/** A source that may be ill is not waited for: after this long, the next one is asked as well. */
const PROBE_MS = 200

type Options = {
  readonly admitted: 'usual' | 'probe'
  readonly breaker: Breaker
  readonly patience: Pick<Patience, 'leftMs'>
  readonly now: () => number
}

/** One call as the breaker sees it: how long it is waited for, and what it came to. It counts as one hang at most. */
export function createCallWait({ admitted, breaker, patience, now }: Options) {
  const startedAt = now()
  let hasHung = false
  const noteHang = () => {
    // The outcome of a probe decides by itself.
    if (hasHung || admitted === 'probe') return
    hasHung = true
    breaker.noteHang()
  }
  return {
    hedgeAfterMs: (): number =>
      admitted === 'probe' ? startedAt + PROBE_MS - now() : patience.leftMs(startedAt, breaker.isSuspect()),
    noteHang,
    settle: (failure: SourceError | undefined): void => {
      if (failure?.reason === 'timeout' && failure.fault === 'source') noteHang()
      if (failure && failure.fault !== 'source') breaker.release(admitted)
      else breaker.settle(admitted, toCallResult(failure))
    },
  }
}

function toCallResult(failure: SourceError | undefined): CallResult {
  if (!failure) return 'success'
  return failure.reason === 'timeout' ? 'timeout' : 'failure'
}
