import { MINUTE_MS } from '../contract/time.ts'
import { toText } from './record.ts'
import { withRetryAfter } from './retry-after.ts'
import type { HttpReply, Send } from './source.ts'
import { type Call, SourceError } from './source.ts'
import { toStatusError } from './status.ts'

/** What a vendor gave. Without a lifetime the token is kept for a while: a vendor that takes it no longer says 401. */
export type Token = { readonly text: string; readonly lifetimeMs?: number | undefined }

export type TokenOptions = {
  readonly source: string
  /** Asks for a token. The time is that before the question, so that a slow answer does not lengthen the token's life. */
  readonly fetchToken: (call: Pick<Call, 'signal' | 'onRetryAfter'>, askedAt: Date) => Promise<Token>
  readonly now?: (() => Date) | undefined
  /** Monotonic: the age of a token does not depend on how the clock is set. */
  readonly ageNow?: (() => number) | undefined
}

const UNKNOWN_LIFETIME_MS = 10 * MINUTE_MS
const MARGIN_MS = MINUTE_MS

/**
 * Sends questions with a token that is fetched when it is needed and kept while it is good. A token that is turned away is
 * forgotten, and the question asked once more with a new one: a 401 costs nothing.
 */
export function withToken(send: Send, options: TokenOptions): Send {
  const { source, fetchToken, now = () => new Date(), ageNow = () => performance.now() } = options
  let kept: { readonly text: string; readonly until: number } | undefined
  let fetching: Promise<string> | undefined

  const fetchOne = async (): Promise<string> => {
    const askedAgeMs = ageNow()
    // One fetch serves everybody who waits, so it does not end when one of them gives up; `send` has a limit of its own.
    const { signal } = new AbortController()
    const { text, lifetimeMs = UNKNOWN_LIFETIME_MS } = await withRetryAfter((onRetryAfter) =>
      fetchToken({ signal, onRetryAfter }, now()),
    )
    kept = { text, until: askedAgeMs + Math.max(lifetimeMs - MARGIN_MS, lifetimeMs / 2) }
    return text
  }
  const getToken = ({ signal }: Pick<Call, 'signal'>): Promise<string> => {
    if (kept && ageNow() < kept.until) return Promise.resolve(kept.text)
    fetching ??= fetchOne().finally(() => {
      fetching = undefined
    })
    return untilAborted(source, fetching, signal)
  }
  // Another question may have brought a new one meanwhile: only the token that failed is forgotten.
  const forget = (text: string) => {
    if (kept?.text === text) kept = undefined
  }

  return async (question, call) => {
    const ask = (token: string) =>
      send({ ...question, headers: { ...question.headers, authorization: `Bearer ${token}` } }, call)
    const first = await getToken(call)
    const reply = await ask(first)
    if (reply.status !== 401) return reply
    forget(first)
    const second = await getToken(call)
    const again = await ask(second)
    if (again.status === 401) forget(second)
    return again
  }
}

/** Without a token the question itself was never asked: nothing is paid for, whatever went wrong. */
function toUnsent(source: string, error: unknown): unknown {
  if (!(error instanceof SourceError)) return error
  const { reason, trouble, retryAfterMs } = error
  return new SourceError(source, reason, { trouble, sent: false, retryAfterMs })
}

function untilAborted<T>(source: string, work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(new SourceError(source, 'timeout', { trouble: 'too_slow', sent: false }))
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work
      .then(resolve, (error) => reject(toUnsent(source, error)))
      .finally(() => signal.removeEventListener('abort', give))
  })
}

/** What a token endpoint's refusal means: there is nothing to ask there but "do you know us?". */
export function requireTokenReply(source: string, { status, body }: HttpReply): unknown {
  if (status === 200 || status === 201) return body
  if (status === 400 || status === 422) throw new SourceError(source, 'refused', { trouble: 'credentials' })
  throw toStatusError(source, status)
}

/** It goes into a header as it is; anything else is no token. */
export function readTokenText(source: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,8192}$/.test(value)) return value
  throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
}

/** 7200, "7200" or "7200 secs". */
export function readLifetimeMs(value: unknown): number | undefined {
  const [, seconds] = /^(\d{1,9}) ?(?:s|secs?|seconds?)?$/i.exec(toText(value)) ?? []
  return seconds === undefined || Number(seconds) === 0 ? undefined : Number(seconds) * 1000
}
