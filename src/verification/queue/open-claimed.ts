import type { Claimed } from '../../ledger/queue-rows.ts'
import type { IdType } from '../id-type.ts'
import type { StoredResponse } from '../idempotency.ts'
import { createVerification, type Verification } from '../verification.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import { toEnd } from './end.ts'
import { toCodeResponse } from './pending-response.ts'
import { openQuestion, type Question } from './sealed-question.ts'

/** Without a verification it has ended here: `bug` is why its question cannot be opened, if that is the reason. */
type Opened<T> = { readonly verification: Verification<T> } | { readonly bug?: unknown }

/**
 * Opens the question of a verification that was claimed. It ends if its key has ended or lost the scope, or if the
 * question is damaged.
 */
export async function openClaimed<T>(
  deps: VerificationDeps,
  idType: IdType<T>,
  claimed: Claimed,
): Promise<Opened<T>> {
  const { keyring, settings, findCaller } = deps.queue
  const { reference, lease, paidCalls: used } = claimed
  const caller = await findCaller(claimed.keyId)
  if (!caller?.scopes.has(`kyc:${idType.kind}`)) {
    await endUnasked(deps, claimed, undefined, caller ? 'the key has lost the scope' : 'the key has ended')
    return {}
  }
  let question: Question
  try {
    question = openQuestion(keyring, reference, claimed.question)
  } catch (error) {
    // A later attempt cannot open it either. The caller may ask again.
    const response = toCodeResponse('internal_error', reference, reference)
    await endUnasked(deps, claimed, response, 'the question cannot be opened')
    return { bug: error }
  }
  const paidCalls = { payer: { reference, lease }, most: settings.paidCalls, used, refunds: [] }
  const unused = { reference, idempotencyKey: undefined, trace: undefined, startedAt: performance.now() }
  const { requireMatch, ...asked } = question
  const request = { ...asked, ...unused, caller: { ...caller, requireMatch } }
  const budget = { paidCalls, lastFailure: undefined }
  return { verification: createVerification(deps, idType, request, toSubject(claimed), budget) }
}

const toSubject = ({ subject }: Claimed) => Buffer.from(subject).toString('hex')

/** Ends a verification for which no source was asked in this attempt. Its Idempotency-Key can be used again. */
async function endUnasked(
  { audit, queue }: VerificationDeps,
  claimed: Claimed,
  response: StoredResponse | undefined,
  detail: string,
): Promise<void> {
  const { reference, keyId, mode, operation } = claimed
  const outcome = response?.outcome ?? 'cancelled'
  const change = toEnd(queue, claimed, response)
  const about = { request_reference: reference, key_id: keyId, mode, operation, subject: toSubject(claimed) }
  if (await audit.recordChange(change, [{ ...about, phase: 'outcome', outcome, detail }])) return
  if (change.event) queue.announce(change.event)
  queue.signals.end(reference, outcome)
}
