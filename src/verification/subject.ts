import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import type { CallGuard } from '../sources/guard/call-guard.ts'
import type { SourceQuery } from '../sources/search.ts'
import type { Call, Source } from '../sources/source.ts'

/** A source in its place in the order of asking. Local sources need no guard. */
export type GuardedSource = { readonly source: Source; readonly guard?: CallGuard }

/** What makes one kind of number different from another. */
export type Subject<T> = {
  readonly kind: Kind
  readonly number: string
  /** The ten digits by which phones are compared. */
  readonly phone: string
  readonly toAsks: (line: readonly GuardedSource[], call: Call) => SourceQuery<T>[]
  readonly numberIn: (record: T) => string
  readonly phonesIn: (record: T) => readonly (string | null)[]
  /** The record with a watch list entry. Absent where the contract knows no watch list. */
  readonly markWatchlisted?: (record: T) => T
  /** The body of the answer, serialised by the contract's shape. */
  readonly toBody: (record: T, reference: string) => string
}

export const toNinSubject = (
  nin: string,
  phone: string,
  toBody: Subject<NinRecord>['toBody'],
): Subject<NinRecord> => ({
  kind: 'nin',
  number: nin,
  phone,
  toAsks: (line, call) =>
    line.flatMap(({ source: { name, findNin }, guard }) =>
      findNin ? [{ name, guard, query: () => findNin({ nin, phone }, call) }] : [],
    ),
  numberIn: (record) => record.nin_number,
  phonesIn: (record) => [record.personal_info.phone_number],
  toBody,
})

export const toBvnSubject = (
  bvn: string,
  phone: string,
  toBody: Subject<BvnRecord>['toBody'],
): Subject<BvnRecord> => ({
  kind: 'bvn',
  number: bvn,
  phone,
  toAsks: (line, call) =>
    line.flatMap(({ source: { name, findBvn }, guard }) =>
      findBvn ? [{ name, guard, query: () => findBvn({ bvn, phone }, call) }] : [],
    ),
  numberIn: (record) => record.bvn_number,
  phonesIn: (record) => [record.personal_info.phone_number, record.personal_info.phone_number_2],
  // Whatever the vendor that has the record says: its text may be a way of saying no.
  markWatchlisted: (record) => ({ ...record, watchlisted: 'YES' }),
  toBody,
})
