import { isVirtualNin } from '../contract/person.ts'
import { steadyNow } from '../contract/time.ts'
import { endAfter } from '../telemetry/tracing.ts'
import type { IdType } from './id-type.ts'
import type { KeyUse, StoredResponse } from './idempotency.ts'
import { toPendingHeaders, toRetryHeaders } from './queue/pending-response.ts'
import { toAuditDetail, toAuditFields, toStillVisible, type VerificationDeps } from './verification.ts'
import type { VerificationRequest } from './verification-request.ts'

/** The final HTTP response. */
export type VerificationResponse = StoredResponse & {
  readonly replayed: boolean
  /** Names and values in turn, besides those of every response. */
  readonly headers?: readonly string[]
}

/** Answers with the first response under the Idempotency-Key. That is recorded as well. */
export async function replay<T>(
  { audit, queue }: VerificationDeps,
  idType: IdType<T>,
  request: VerificationRequest,
  subject: string,
  first: StoredResponse,
): Promise<VerificationResponse> {
  const stored = toStillVisible(first, idType.kind, request.caller)
  const fields = toAuditFields(idType, request, subject, stored.reference)
  const { outcome, released, match } = stored
  const detail = toAuditDetail(match, fields.detail)
  const entry = { ...fields, phase: 'replay', outcome, fields_released: released, detail } as const
  await endAfter(request.trace?.startStep('commit'), audit.record([entry]))
  const headers =
    outcome === 'pending'
      ? await toPendingHeaders(queue, await findPending(queue, request, stored))
      : toRetryHeaders(stored)
  return { ...stored, replayed: true, headers }
}

const findPending = async (
  { table }: VerificationDeps['queue'],
  { caller }: VerificationRequest,
  { reference }: StoredResponse,
) =>
  (await table.find(reference, caller.lineage, steadyNow())) ?? {
    reference,
    isRunning: false,
    dueMs: undefined,
  }

export const toKeyUse = <T>(
  { operation }: IdType<T>,
  { reference, caller, number, phone, amount = '', details }: VerificationRequest,
  header: string,
  subject: string,
): KeyUse => ({
  keyId: caller.lineage,
  operation,
  reference,
  header,
  request: details === undefined ? [number, phone, amount] : [number, phone, amount, JSON.stringify(details)],
  subject,
  isVirtual: isVirtualNin(number),
})
