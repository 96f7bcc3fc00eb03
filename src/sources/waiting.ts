import type { Permit } from './guard/call-guard.ts'
import { SourceError } from './source.ts'

/** What a call comes to; undefined when it is not waited for any longer, because the next source is to be asked beside it. */
export async function waitPatiently<T>(asked: Promise<T>, pass: Permit): Promise<T | undefined> {
  for (;;) {
    const ms = pass.hedgeAfterMs()
    if (ms <= 0) break
    const outcome = await within(asked, ms)
    if (outcome !== undefined) return outcome
  }
  pass.recordHang()
  return undefined
}

/** Even a source that ignores the signal is waited for no longer. */
export const untilAborted = <T>(
  name: string,
  work: Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> =>
  orWhenAborted(work, signal, () => {
    throw new SourceError(name, 'timeout', { trouble: 'too_slow', fault: 'deadline' })
  })

/** What the work comes to, or something else when the signal comes first. */
export function orWhenAborted<T, R>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  otherwise: () => R,
): Promise<T | R> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    // One that obeys the signal knows best what became of its question, and is given the moment to say so.
    const end = () => setImmediate(() => Promise.try(otherwise).then(resolve, reject))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

/** Undefined when it takes longer. */
async function within<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, ms, undefined)
  // Should nobody come back for it, its failure is no bug.
  work.catch(() => {})
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
