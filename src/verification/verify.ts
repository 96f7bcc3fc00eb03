import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { AppError } from '../errors.ts'
import type { Mode } from '../keys/api-key.ts'
import type { Caller } from '../keys/authenticate.ts'
import { askInOrder } from '../sources/failover.ts'
import { type Answer, type Call, type Source, SourceError } from '../sources/source.ts'
import { mask } from './mask.ts'
import { isPhoneOf } from './match.ts'
import { createReference } from './reference.ts'

/** The sources in the order of asking. A test key never reaches a live source, and the other way round. */
export type Sources = {
  readonly [M in Mode]: { readonly nin: readonly Source[]; readonly bvn: readonly Source[] }
}

export type Verification<T> =
  | { readonly verified: true; readonly reference: string; readonly record: T }
  | { readonly verified: false; readonly reference: string }

/** What makes one kind of number different from another. */
type Subject<T> = {
  readonly number: string
  readonly phone: string
  readonly asks: (call: Call) => (() => Promise<Answer<T>>)[]
  readonly numberIn: (record: T) => string
  readonly phonesIn: (record: T) => readonly (string | null)[]
}

/** Longest that a caller waits for sources. */
const DEADLINE_MS = 15_000

export const verifyNinRecord = (sources: Sources, caller: Caller, nin: string, phone: string) =>
  verify<NinRecord>({
    number: nin,
    phone,
    asks: (call) =>
      sources[caller.mode].nin.flatMap(({ findNin }) =>
        findNin ? [() => findNin({ nin, phone }, call)] : [],
      ),
    numberIn: (record) => record.nin_number,
    phonesIn: (record) => [record.personal_info.phone_number],
  })

export const verifyBvnRecord = (sources: Sources, caller: Caller, bvn: string, phone: string) =>
  verify<BvnRecord>({
    number: bvn,
    phone,
    asks: (call) =>
      sources[caller.mode].bvn.flatMap(({ findBvn }) =>
        findBvn ? [() => findBvn({ bvn, phone }, call)] : [],
      ),
    numberIn: (record) => record.bvn_number,
    phonesIn: (record) => [record.personal_info.phone_number, record.personal_info.phone_number_2],
  })

/** The steps of a verification, the same for test and live. */
async function verify<T extends object>(subject: Subject<T>): Promise<Verification<T>> {
  const reference = createReference()
  const answer = await askInOrder(subject.asks({ signal: AbortSignal.timeout(DEADLINE_MS), reference }))
  if (!answer.found) return { verified: false, reference }
  refuseWrongPerson(subject, answer.record)
  if (!isPhoneOf(subject.phone, subject.phonesIn(answer.record))) return { verified: false, reference }
  return { verified: true, reference, record: mask(answer.record) }
}

/** A source that answers with somebody else's record must never reach the caller. */
function refuseWrongPerson<T>(subject: Subject<T>, record: T): void {
  if (subject.numberIn(record) !== subject.number)
    throw new AppError('source_bad_response', { cause: new SourceError('answer', 'bad_response') })
}
