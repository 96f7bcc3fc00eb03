import type { AuditEntry } from '../../audit/row.ts'
import type { Scope } from '../../contract/scope.ts'
import { steadyNow } from '../../contract/time.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../keys/caller.ts'
import type { Queued } from '../../ledger/queue-rows.ts'
import { renewMediaLinks } from '../../registry/media-link.ts'
import { NIN } from '../id-type.ts'
import type { VerificationResponse } from '../replay.ts'
import { toAuditDetail, toStillVisible, type VerificationDeps } from '../verification.ts'
import { isReference } from '../verification-request.ts'
import { toCodeResponse, toPendingHeaders, toRetryHeaders } from './pending-response.ts'
import { openAnswer } from './sealed-question.ts'

type Asked = { readonly reference: string; readonly caller: Caller; readonly requestId: string }

/** The answer of a verification that was queued, exactly as the verification would have given it, or `pending`. */
export async function readVerification(
  { audit, queue, pictureKey }: VerificationDeps,
  asked: Asked,
): Promise<VerificationResponse> {
  const found = await find(queue.table, asked)
  const { reference, caller, requestId } = asked
  if (found.state === 'pending')
    return {
      ...toCodeResponse('pending', reference, requestId),
      replayed: false,
      headers: await toPendingHeaders(queue, found),
    }
  if (!found.answer) throw new AppError('gone')
  const kind = found.operation === NIN.operation ? 'nin' : 'bvn'
  const answer = openAnswer(queue.keyring, reference, found.answer, caller.lineage)
  const stored = toStillVisible(answer, kind, caller)
  const { outcome, released, match } = stored
  const detail = toAuditDetail(match, undefined)
  // As a replay under an Idempotency-Key: the outcome was recorded before.
  await audit.record([
    { ...toFields(found, caller), phase: 'replay', outcome, fields_released: released, detail },
  ])
  const body = renewMediaLinks(pictureKey(), stored.body, caller.keyId)
  return { ...stored, body, replayed: false, headers: toRetryHeaders(stored) }
}

/** How often a cancellation is tried when the verification changes between its reading and the commit. */
const MAX_TRIES = 5

/** Cancels a verification unless a source is being asked or it has ended. A repeated call has no effect. */
export async function cancelVerification(
  { audit, queue }: VerificationDeps,
  asked: Asked,
): Promise<VerificationResponse> {
  const { reference, caller } = asked
  const change = {
    kind: 'cancel',
    reference,
    lineage: caller.lineage,
    keepMs: queue.settings.keepMs,
  } as const
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = await find(queue.table, asked)
    if (found.state === 'gone') throw new AppError('gone')
    if (found.state === 'cancelled') return toCancelled(reference)
    if (found.state !== 'pending' || found.isRunning) break
    const entry = { ...toFields(found, caller), phase: 'outcome', outcome: 'cancelled' }
    // Refused if another call cancelled it in the same moment, or a worker took it: which of these, the row says.
    if (await audit.recordChange(change, [entry])) continue
    queue.signals.end(reference, 'cancelled')
    return toCancelled(reference)
  }
  throw new AppError('already_begun')
}

const toCancelled = (reference: string): VerificationResponse => ({
  status: 204,
  body: '',
  outcome: 'cancelled',
  reference,
  released: null,
  replayed: false,
})

/** Another key gets the same as for an unknown reference. */
async function find(
  table: VerificationDeps['queue']['table'],
  { reference, caller }: Asked,
): Promise<Queued> {
  const found = isReference(reference) ? await table.find(reference, caller.lineage, steadyNow()) : undefined
  if (!found || !caller.scopes.has(toScope(found))) throw new AppError('not_found')
  return found
}

const toScope = ({ operation }: Queued): Scope => (operation === NIN.operation ? 'kyc:nin' : 'kyc:bvn')

const toFields = (
  { reference, mode, operation, subject }: Queued,
  { keyId }: Caller,
): Omit<AuditEntry, 'phase'> => ({
  request_reference: reference,
  key_id: keyId,
  mode,
  operation,
  subject: Buffer.from(subject).toString('hex'),
})
