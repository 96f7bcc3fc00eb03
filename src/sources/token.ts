import { MINUTE_MS } from '../contract/time.ts'
import { orWhenAborted } from '../telemetry/running-clock.ts'
import { toText } from './record.ts'
import { statusError, withRetryAfter } from './reply.ts'
import type { HttpReply, Send } from './source.ts'
import { type Call, SourceError } from './source.ts'

/** Without a lifetime, the token is kept for ten minutes; the vendor answers 401 when it has expired. */
export type Token = { readonly text: string; readonly lifetimeMs?: number | undefined }

export type TokenOptions = {
  readonly source: string
  /** `requestedAt` is the time before the request, so that a slow reply does not extend the token's life. */
  readonly fetchToken: (call: Pick<Call, 'signal' | 'onRetryAfter'>, requestedAt: Date) => Promise<Token>
  /** The header that carries the token, and what stands before the token in it. */
  readonly header?: string | undefined
  readonly prefix?: string | undefined
  readonly now?: (() => Date) | undefined
  /** Monotonic: the age of a token does not depend on how the clock is set. */
  readonly ageNow?: (() => number) | undefined
}

const UNKNOWN_LIFETIME_MS = 10 * MINUTE_MS
const MARGIN_MS = MINUTE_MS

/**
 * Sends requests with a token that is fetched on demand and kept until it expires. After a 401 the request is repeated once
 * with a new token: vendors do not charge for a 401.
 */
export function withToken(send: Send, options: TokenOptions): Send {
  const { source, fetchToken, header = 'authorization', prefix = 'Bearer ' } = options
  const { now = () => new Date(), ageNow = () => performance.now() } = options
  let kept: { readonly text: string; readonly until: number } | undefined
  let fetching: Promise<string> | undefined

  const fetchOne = async (): Promise<string> => {
    const requestedAgeMs = ageNow()
    // All waiting requests share one fetch, so none of their signals ends it; `send` has its own time limit.
    const { signal } = new AbortController()
    const { text, lifetimeMs = UNKNOWN_LIFETIME_MS } = await withRetryAfter((onRetryAfter) =>
      fetchToken({ signal, onRetryAfter }, now()),
    )
    kept = { text, until: requestedAgeMs + Math.max(lifetimeMs - MARGIN_MS, lifetimeMs / 2) }
    return text
  }
  const getToken = ({ signal }: Pick<Call, 'signal'>): Promise<string> => {
    if (kept && ageNow() < kept.until) return Promise.resolve(kept.text)
    fetching ??= fetchOne().finally(() => {
      fetching = undefined
    })
    const token = fetching.catch((error) => {
      throw unsentError(source, error)
    })
    return orWhenAborted(token, signal, () => {
      throw new SourceError(source, 'timeout', { problem: 'too_slow', sent: false })
    })
  }
  // Another request may have fetched a new token meanwhile: only the token that failed is dropped.
  const forget = (text: string) => {
    if (kept?.text === text) kept = undefined
  }

  return async (request, call) => {
    const sendWith = (token: string) =>
      send({ ...request, headers: { ...request.headers, [header]: `${prefix}${token}` } }, call)
    const first = await getToken(call)
    const reply = await sendWith(first)
    if (reply.status !== 401) return reply
    forget(first)
    const second = await getToken(call)
    const again = await sendWith(second)
    if (again.status === 401) forget(second)
    return again
  }
}

/** Without a token the request itself was never sent, so it is not paid for, and the failure is about no person. */
function unsentError(source: string, error: unknown): unknown {
  if (!(error instanceof SourceError)) return error
  const { reason, problem, retryAfterMs } = error
  return new SourceError(source, reason, { problem, sent: false, fault: 'source', retryAfterMs })
}

/** A 400 or 422 of a token endpoint means wrong credentials: the request contains nothing else. */
export function requireTokenReply(source: string, { status, body }: HttpReply): unknown {
  if (status === 200 || status === 201) return body
  if (status === 400 || status === 422) throw new SourceError(source, 'refused', { problem: 'credentials' })
  throw statusError(source, status)
}

/** Only characters that are allowed in a header. */
export function readTokenText(source: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,8192}$/.test(value)) return value
  throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
}

/** 7200, "7200" or "7200 secs". */
export function readLifetimeMs(value: unknown): number | undefined {
  const [, seconds] = /^(\d{1,9}) ?(?:s|secs?|seconds?)?$/i.exec(toText(value)) ?? []
  return seconds === undefined || Number(seconds) === 0 ? undefined : Number(seconds) * 1000
}
