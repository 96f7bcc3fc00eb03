import { createEvent, type NewEvent } from '../../contract/event.ts'
import { steadyNow } from '../../contract/time.ts'
import { ERRORS, type ErrorCode } from '../../errors.ts'
import type { Finish } from '../../ledger/queue-change.ts'
import type { Claimed } from '../../ledger/queue-rows.ts'
import { type StoredResponse, sealStoredResponse } from '../idempotency.ts'
import type { QueueDeps } from './queue-deps.ts'
import { sealAnswer } from './sealed-question.ts'

/** The end of a verification as it is written. Without a response it is cancelled. */
export function toEnd(
  { keyring, settings: { keepMs } }: QueueDeps,
  claimed: Claimed,
  response: StoredResponse | undefined,
): Finish {
  const { reference, lease, idempotency } = claimed
  const ids = { kind: 'finish', reference, lease, keepMs } as const
  if (!response)
    return { ...ids, state: 'cancelled', outcome: 'cancelled', answer: undefined, stored: undefined }
  const { outcome } = response
  return {
    ...ids,
    state: outcome === 'expired' ? 'expired' : 'answered',
    outcome,
    answer: sealAnswer(keyring, response),
    stored:
      idempotency && !isRetryable(outcome) ? sealStoredResponse(keyring, idempotency, response) : undefined,
    event: claimed.lane === 'single' ? toEvent(claimed, outcome) : undefined,
  }
}

/** The caller is told to ask again: the same Idempotency-Key then runs again. */
const isRetryable = (outcome: string) =>
  Object.hasOwn(ERRORS, outcome) && ERRORS[outcome as ErrorCode].retryable

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  verified: 'VERIFIED',
  not_verified: 'NOT_VERIFIED',
  expired: 'EXPIRED',
}

/** Rows of a batch have none: the end of the batch is told. */
function toEvent({ reference, keyId, operation, mode }: Claimed, outcome: string): NewEvent {
  const status = STATUS_TEXTS[outcome] ?? 'FAILED'
  return createEvent({
    type: outcome === 'expired' ? 'verification.expired' : 'verification.completed',
    at: steadyNow(),
    keyId,
    reference,
    data: { reference, operation, mode, status, ...(status === 'FAILED' && { code: outcome }) },
  })
}
