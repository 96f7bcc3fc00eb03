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
    ...['location', toAddress(pending.reference)],
    ...['retry-after', String(Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_S))],
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
