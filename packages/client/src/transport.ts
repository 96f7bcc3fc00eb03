import { invalidArgument, TabbatError, unexpectedResponse } from './error.ts'
import { toResponseError } from './response-error.ts'
import { sleep, toDelayMs } from './retry.ts'

export type CallOptions = {
  /** Ends the call, its waits and its retries. */
  readonly signal?: AbortSignal | undefined
  /** For the whole call with its retries, in ms. */
  readonly timeoutMs?: number | undefined
}

export type TabbatOptions = {
  /** An API key: `tbt_test_…` or `tbt_live_…`. */
  readonly key: string
  /** Address of the server without `/api/v2`, for example `https://tabbat.example.com`. */
  readonly baseUrl: string
  /** For a whole call with its retries: 60 000 ms. */
  readonly timeoutMs?: number | undefined
  /** For one request: 20 000 ms, which is longer than a server asks its sources. */
  readonly attemptTimeoutMs?: number | undefined
  /** Retries of one call: 4. */
  readonly maxRetries?: number | undefined
  /** Instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

export type Call = CallOptions & {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Texts of the request that an error must not quote. */
  readonly sent?: readonly string[]
  /** A body for which the time of one request is too short: it has the time of the whole call. */
  readonly isLarge?: boolean
  /** The body of a success is not read: see stream.ts. */
  readonly isStream?: boolean
  /** Whether an error is a result: its response is returned. */
  readonly isResult?: (error: TabbatError) => boolean
}

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
  /** Ends a body that is not read yet. */
  readonly end: () => void
}

export type Send = (call: Call) => Promise<Answer>

export type Transport = { readonly send: Send; readonly maxRetries: number; readonly timeoutMs: number }

const MAX_TIMER_MS = 2 ** 31 - 1
/** A retry with less time would end as a timeout, and hide the error before it. Shorter calls have a quarter of their time. */
const LEAST_TIME_MS = 1000
/** No response of Tabbat is as large. That to a large body, a batch, tells of every refused row. */
export const MAX_RESPONSE_BYTES = 2 ** 23
const MAX_LARGE_RESPONSE_BYTES = 2 ** 27

/** Sends calls with one deadline each, and repeats what may succeed later. */
export function createTransport(options: TabbatOptions): Transport {
  const { attemptTimeoutMs = 20_000, maxRetries = 4, fetch: fetchWith = fetch } = options
  const base = toBase(options.baseUrl)
  if (typeof options.key !== 'string' || !/^[\x21-\x7e]+$/.test(options.key))
    throw invalidArgument('key must be an API key: tbt_test_… or tbt_live_…')
  if (!(Number.isSafeInteger(maxRetries) && maxRetries >= 0))
    throw invalidArgument('maxRetries must be a whole number from 0.')
  checkTime('attemptTimeoutMs', attemptTimeoutMs)

  async function attempt(call: Call, leftMs: number): Promise<Answer | TabbatError> {
    const abort = new AbortController()
    const end = () => abort.abort()
    const timer = setTimeout(end, call.isLarge ? leftMs : Math.min(leftMs, attemptTimeoutMs))
    call.signal?.addEventListener('abort', end)
    try {
      const response = await fetchWith(base + call.path, {
        method: call.method,
        headers: { accept: 'application/json', ...call.headers, authorization: `Bearer ${options.key}` },
        ...(call.body !== undefined && { body: call.body }),
        redirect: 'manual',
        credentials: 'omit',
        signal: abort.signal,
      })
      return await readAnswer(response, call, end)
    } catch (thrown) {
      const isTimeout = abort.signal.aborted
      end()
      return thrown instanceof TabbatError ? thrown : toNetworkError(thrown, isTimeout)
    } finally {
      clearTimeout(timer)
      call.signal?.removeEventListener('abort', end)
    }
  }

  const send: Send = async (call) => {
    const { signal, timeoutMs = options.timeoutMs ?? 60_000 } = call
    checkTime('timeoutMs', timeoutMs)
    const endsAt = performance.now() + timeoutMs
    const leastMs = Math.min(LEAST_TIME_MS, attemptTimeoutMs, timeoutMs / 4)
    const isTooLate = (delayMs: number) => performance.now() + delayMs + leastMs > endsAt
    for (let retries = 0; ; retries += 1) {
      throwIfAborted(signal)
      const answer = await attempt(call, endsAt - performance.now())
      if (!(answer instanceof TabbatError)) return answer
      const delayMs = toDelayMs(retries, answer.retryAfterMs)
      const isLast = !answer.retryable || retries >= maxRetries || isTooLate(delayMs)
      if (isLast && !signal?.aborted) throw answer
      await sleep(delayMs, signal)
      if (isTooLate(0) && !signal?.aborted) throw answer
    }
  }
  return { send, maxRetries, timeoutMs: options.timeoutMs ?? 60_000 }
}

export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new TabbatError('aborted', 'The call was aborted by its signal.')
}

async function readAnswer(
  response: Response,
  { isResult, isLarge = false, isStream = false, sent = [] }: Call,
  end: () => void,
): Promise<Answer | TabbatError> {
  const { status, headers } = response
  if (response.ok && isStream) return { status, headers, body: response.body, end }
  const body = parse(await readText(response, isLarge ? MAX_LARGE_RESPONSE_BYTES : MAX_RESPONSE_BYTES))
  const answer = { status, headers, body, end }
  if (response.ok && (status === 204 || typeof body === 'object')) return answer
  const error = toResponseError(response, body, sent)
  return isResult?.(error) ? answer : error
}

async function readText({ body, status }: Response, maxBytes: number): Promise<string> {
  const reader = body?.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  for (let size = 0; ; ) {
    const piece = await reader?.read()
    size += piece?.value?.length ?? 0
    if (size > maxBytes) throw unexpectedResponse(status)
    try {
      text += decoder.decode(piece?.value, { stream: piece?.value !== undefined })
    } catch {
      throw unexpectedResponse(status)
    }
    if (!piece?.value) return text
  }
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only a code such as ECONNREFUSED is taken over: other texts of `fetch` may quote headers. */
export function toNetworkError(thrown: unknown, isTimeout: boolean): TabbatError {
  if (isTimeout) return new TabbatError('timeout', 'The server did not answer in time.', { retryable: true })
  const { cause, code } = Object(thrown) as { cause?: unknown; code?: unknown }
  const reason = [code, (Object(cause) as { code?: unknown }).code].find(
    (each) => typeof each === 'string' && /^[A-Z][A-Z_]+$/.test(each),
  )
  const message = `The server could not be reached, or the connection broke${reason ? ` (${reason})` : ''}.`
  return new TabbatError('network_error', message, { retryable: true })
}

function toBase(baseUrl: unknown): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw invalidArgument('baseUrl must be an http or https address without credentials, query and hash.')
  const base = url.href.replace(/\/+$/, '')
  if (base.endsWith('/api/v2')) throw invalidArgument('baseUrl must not end in /api/v2: the client adds it.')
  return base
}

function checkTime(name: string, value: unknown): void {
  if (!(typeof value === 'number' && value > 0 && value <= MAX_TIMER_MS))
    throw invalidArgument(`${name} must be a number of milliseconds from 1 to ${MAX_TIMER_MS}.`)
}
