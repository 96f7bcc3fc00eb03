import { steadyNow } from '../../contract/time.ts'
import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../../errors.ts'
import type { Queued } from '../../ledger/queue-rows.ts'
import type { StoredResponse } from '../idempotency.ts'
import type { QueueDeps } from './open-queue.ts'

const STATUS_TEXTS: Partial<Record<ErrorCode, string>> = { pending: 'PENDING', expired: 'EXPIRED' }

/** A response without personal data, in the shape of errors: nothing in it can be taken for VERIFIED. */
export function toCodeResponse(code: ErrorCode, reference: string, requestId: string): StoredResponse {
  const verification_status = STATUS_TEXTS[code]
  const data = verification_status && { request_reference: reference, verification_status }
  const body = JSON.stringify(toErrorBody(new AppError(code, data ? { data } : {}), requestId, reference))
  return { status: ERRORS[code].status, body, outcome: code, reference, released: null }
}

/** A failure that ends a verification. When a retry may succeed is kept as a time: the answer is read later. */
export function toErrorResponse(error: AppError, reference: string, requestId: string): StoredResponse {
  const retryAfterS = Number(error.headers['retry-after'])
  const response = toCodeResponse(error.code, reference, requestId)
  return retryAfterS > 0 ? { ...response, retryAt: steadyNow() + retryAfterS * 1000 } : response
}

/** `Retry-After` of a failure that was stored. */
export const toRetryHeaders = ({ retryAt }: Pick<StoredResponse, 'retryAt'>): readonly string[] =>
  retryAt === undefined ? [] : ['retry-after', String(Math.max(1, Math.ceil((retryAt - steadyNow()) / 1000)))]

export const toAddress = (reference: string) => `/api/v2/kyc/verifications/${reference}`

/** Longest time that a caller is told to wait before it asks again. */
const MAX_RETRY_AFTER_S = 60

/** Headers of a 202. The caller is told to ask again when the answer will probably be there. */
export async function toPendingHeaders(queue: QueueDeps, pending: Pending): Promise<string[]> {
  const seconds = Math.ceil((await estimateAnswerMs(queue, pending)) / 1000)
  return [
    'location',
    toAddress(pending.reference),
    'retry-after',
    String(Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_S)),
  ]
}

type Pending = Pick<Queued, 'reference' | 'isRunning' | 'dueMs'>

async function estimateAnswerMs({ table, pace }: QueueDeps, pending: Pending): Promise<number> {
  const { reference, isRunning, dueMs = 0 } = pending
  // The due time of a running one is the end of its lease.
  if (isRunning) return pace.estimateMs(0)
  if (dueMs > 0) return dueMs + pace.estimateMs(0)
  return pace.estimateMs(pace.isFull() ? await table.countBefore(reference) : 0)
}

/** To a caller that asked for it with Prefer (RFC 7240). */
export const PREFERENCE_APPLIED = ['preference-applied', 'respond-async'] as const

/** What the header Prefer (RFC 7240) asks for, as far as it is known here. */
export type Preference = {
  readonly isAsync: boolean
  /** In seconds. */
  readonly wait: number | undefined
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Unknown and malformed preferences are ignored, and of several with one name the first counts, as RFC 7240 says. */
export function readPreference(header: string | undefined): Preference {
  const preferences = new Map<string, string>()
  for (const part of splitOutsideQuotes(header ?? '', ',')) {
    const [first = ''] = splitOutsideQuotes(part, ';')
    const mark = first.indexOf('=')
    const name = (mark === -1 ? first : first.slice(0, mark)).trim().toLowerCase()
    const value = mark === -1 ? '' : unquote(first.slice(mark + 1).trim())
    if (NAME.test(name) && !preferences.has(name)) preferences.set(name, value)
  }
  const wait = preferences.get('wait') ?? ''
  return {
    isAsync: preferences.get('respond-async') === '',
    wait: /^\d{1,9}$/.test(wait) ? Number(wait) : undefined,
  }
}

const unquote = (text: string) =>
  /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : text

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let part = ''
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string
    if (isQuoted && character === '\\') {
      part += character + (text[++index] ?? '')
      continue
    }
    if (character === '"') isQuoted = !isQuoted
    if (character === separator && !isQuoted) {
      parts.push(part)
      part = ''
    } else part += character
  }
  return [...parts, part]
}
