import type { RequireMatch } from '../../contract/person.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { BrokenSeal, seal, toAssociatedData, unseal } from '../../crypto/seal.ts'
import { isWorthKeeping, type Seen } from '../../sources/seen.ts'
import { openStoredResponse, type StoredResponse, sealStoredResponse } from '../idempotency.ts'
import type { VerificationRequest } from '../verification-request.ts'

/** A request without what is known only while it is answered. */
export type Question = Omit<
  VerificationRequest,
  'reference' | 'caller' | 'startedAt' | 'idempotencyKey' | 'trace' | 'place'
> & {
  /** What the key required when the question was accepted: its caller could not know what is required later. */
  readonly requireMatch?: RequireMatch | undefined
  /** Of the request under its Idempotency-Key, in hex. Undefined without such a key, and in what 0.3.0 has sealed. */
  readonly fingerprint?: string | undefined
  /** Of the key that asked. Undefined in what 0.3.0 has sealed. */
  readonly lineage?: string | undefined
  /** What earlier attempts have found out, if the next one is to know it. */
  readonly seen?: Seen | undefined
}

const toBound = (reference: string) => toAssociatedData('queued_verifications', Buffer.from(reference), 1)

/** Under a key of its own, and bound to the reference and to the key that asked: a question cannot be moved to another row or key. */
export function sealQuestion(
  keyring: Pick<Keyring, 'queue'>,
  reference: string,
  request: VerificationRequest,
  fingerprint?: Buffer,
  seen?: Seen,
): Buffer {
  const { caller: _caller, startedAt: _startedAt, idempotencyKey: _key, trace: _trace, ...rest } = request
  const { reference: _reference, place: _place, ...asked } = rest
  const question: Question = {
    ...asked,
    requireMatch: request.caller.requireMatch,
    fingerprint: fingerprint?.toString('hex'),
    lineage: request.caller.lineage,
  }
  return sealAgain(keyring, reference, question, seen)
}

/** With what was found out meanwhile. */
export function sealAgain(
  keyring: Pick<Keyring, 'queue'>,
  reference: string,
  question: Question,
  seen: Seen | undefined,
): Buffer {
  const text = JSON.stringify({ ...question, seen: seen && isWorthKeeping(seen) ? seen : undefined })
  return seal(keyring.queue, Buffer.from(text), toBound(reference))
}

/** Throws BrokenSeal for the question of another key. Without a lineage, any is opened. */
export function openQuestion(
  keyring: Pick<Keyring, 'queue'>,
  reference: string,
  sealed: Uint8Array,
  lineage?: string,
): Question {
  const question: Question = JSON.parse(unseal(keyring.queue, sealed, toBound(reference)).toString())
  if (lineage !== undefined && (question.lineage ?? lineage) !== lineage) throw new BrokenSeal()
  return question
}

/** As the response under an Idempotency-Key is sealed, bound to the reference and to the key that asked. */
export const sealAnswer = (keyring: Keyring, response: StoredResponse, lineage?: string): Buffer =>
  sealStoredResponse(keyring, Buffer.from(response.reference), response, lineage)

/** Throws BrokenSeal for the answer of another key. Without a lineage, any is opened. */
export const openAnswer = (
  keyring: Keyring,
  reference: string,
  sealed: Uint8Array,
  lineage?: string,
): StoredResponse => openStoredResponse(keyring, Buffer.from(reference), sealed, lineage)
