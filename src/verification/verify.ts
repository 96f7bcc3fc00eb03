import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import { AppError } from '../errors.ts'
import type { Mode } from '../keys/api-key.ts'
import type { Caller } from '../keys/authenticate.ts'
import { askInOrder } from '../sources/failover.ts'
import { type Answer, type Call, type Source, SourceError } from '../sources/source.ts'
import type { Attempts } from './attempts.ts'
import { mask } from './mask.ts'
import { isPhoneOf } from './match.ts'
import { createReference } from './reference.ts'

/** The sources in the order of asking. A test key never reaches a live source, and the other way round. */
export type Sources = {
  readonly [M in Mode]: { readonly [K in Kind]: readonly Source[] }
}

/** What a verification needs of the server. */
export type Desk = { readonly sources: Sources; readonly attempts: Attempts }

export type Verification<T> =
  | { readonly verified: true; readonly reference: string; readonly record: T }
  | { readonly verified: false; readonly reference: string }

/** What makes one kind of number different from another. */
type Subject<T> = {
  readonly kind: Kind
  readonly number: string
  readonly phone: string
  readonly asks: (call: Call) => (() => Promise<Answer<T>>)[]
  readonly numberIn: (record: T) => string
  readonly phonesIn: (record: T) => readonly (string | null)[]
}

/** Longest that a caller waits for sources. */
const DEADLINE_MS = 15_000

export const verifyNinRecord = (desk: Desk, caller: Caller, nin: string, phone: string) =>
  verify<NinRecord>(desk, caller, {
    kind: 'nin',
    number: nin,
    phone,
    asks: (call) =>
      desk.sources[caller.mode].nin.flatMap(({ findNin }) =>
        findNin ? [() => findNin({ nin, phone }, call)] : [],
      ),
    numberIn: (record) => record.nin_number,
    phonesIn: (record) => [record.personal_info.phone_number],
  })

export const verifyBvnRecord = (desk: Desk, caller: Caller, bvn: string, phone: string) =>
  verify<BvnRecord>(desk, caller, {
    kind: 'bvn',
    number: bvn,
    phone,
    asks: (call) =>
      desk.sources[caller.mode].bvn.flatMap(({ findBvn }) =>
        findBvn ? [() => findBvn({ bvn, phone }, call)] : [],
      ),
    numberIn: (record) => record.bvn_number,
    phonesIn: (record) => [record.personal_info.phone_number, record.personal_info.phone_number_2],
  })

/** The steps of a verification, the same for test and live. Synthetic people need no guard against guessing. */
async function verify<T extends object>(
  { attempts }: Desk,
  caller: Caller,
  subject: Subject<T>,
): Promise<Verification<T>> {
  const reference = createReference()
  const guarded = caller.mode === 'live'
  if (guarded) await attempts.admit(caller, subject.kind, subject.number)
  const answer = await askInOrder(subject.asks({ signal: AbortSignal.timeout(DEADLINE_MS), reference }))
  if (answer.found) refuseWrongPerson(subject, answer.record)
  if (!answer.found || !isPhoneOf(subject.phone, subject.phonesIn(answer.record))) {
    if (guarded) await attempts.fail(caller, subject.kind, subject.number)
    return { verified: false, reference }
  }
  if (guarded) await attempts.succeed(caller, subject.kind, subject.number)
  return { verified: true, reference, record: mask(answer.record, caller.hidden) }
}

/** A source that answers with somebody else's record must never reach the caller. */
function refuseWrongPerson<T>(subject: Subject<T>, record: T): void {
  if (subject.numberIn(record) !== subject.number)
    throw new AppError('source_bad_response', { cause: new SourceError('answer', 'bad_response') })
}
