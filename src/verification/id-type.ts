import type { KeyObject } from 'node:crypto'
import type { BvnRecord, BvnResponse } from '../contract/bvn.ts'
import type { NinRecord, NinResponse } from '../contract/nin.ts'
import type { DetailField } from '../contract/person.ts'
import { isVirtualNin } from '../contract/person.ts'
import type { Kind } from '../crypto/mac.ts'
import { toPicturePath } from '../registry/media-link.ts'
import type { RecordRows } from '../sources/lookup.ts'
import type { Answer, Call, LocalSource, Source } from '../sources/source.ts'
import type { PersonInfo } from './match-details.ts'
import type { VerificationRequest } from './verification-request.ts'

/** What a source is asked. */
type Asked = Pick<VerificationRequest, 'number' | 'phone' | 'details'>

/** Everything in which a NIN and a BVN differ. */
export type IdType<T> = {
  readonly kind: Kind
  /** In the audit log. */
  readonly operation: string
  /** The details without which the source cannot look up this number; undefined if it cannot at all. */
  readonly needsOf: (source: Source, number: string) => readonly DetailField[] | undefined
  /** Whether the source can look up this number, with these details. */
  readonly isOfferedBy: (source: Source, asked: Asked) => boolean
  readonly find: (source: Source, asked: Asked, call: Call) => Promise<Answer<T>>
  readonly findLocal: (
    source: LocalSource,
    number: string,
    phone: string,
    rows: RecordRows,
  ) => Answer<T> | Promise<Answer<T>>
  readonly numberIn: (record: T) => string
  /** Whether the record is that of the requested number. */
  readonly isAbout: (record: T, number: string) => boolean
  readonly personIn: (record: T) => PersonInfo
  readonly phonesIn: (record: T) => readonly (string | null)[]
  /** The record with a watch list entry. Absent where the contract has no watch list. */
  readonly markWatchlisted?: (record: T) => T
  /** The body of a 200. `pictureKey` signs links to pictures. */
  readonly toBody: (
    record: T,
    reference: string,
    request: VerificationRequest,
    pictureKey: KeyObject,
  ) => object
}

/** A source may return the NIN behind a virtual NIN. */
const NIN_PATTERN = /^\d{11}$/

export const NIN: IdType<NinRecord> = {
  kind: 'nin',
  operation: 'verify_nin',
  needsOf: needsOfNin,
  isOfferedBy: (source, asked) => hasDetails(needsOfNin(source, asked.number), asked),
  find: ({ name, findNin }, { number, phone, details }, call) =>
    (findNin ?? notOffered(name))({ nin: number, phone, details }, call),
  findLocal: ({ findNin }, nin, phone, rows) => findNin({ nin, phone }, rows),
  numberIn: ({ nin_number }) => nin_number,
  isAbout: ({ nin_number }, nin) => nin_number === nin || (isVirtualNin(nin) && NIN_PATTERN.test(nin_number)),
  personIn: (record) => record.personal_info,
  phonesIn: (record) => [record.personal_info.phone_number],
  toBody: toNinBody,
}

export const BVN: IdType<BvnRecord> = {
  kind: 'bvn',
  operation: 'verify_bvn',
  needsOf: needsOfBvn,
  isOfferedBy: (source, asked) => hasDetails(needsOfBvn(source), asked),
  find: ({ name, findBvn }, { number, phone, details }, call) =>
    (findBvn ?? notOffered(name))({ bvn: number, phone, details }, call),
  findLocal: ({ findBvn }, bvn, phone, rows) => findBvn({ bvn, phone }, rows),
  numberIn: ({ bvn_number }) => bvn_number,
  isAbout: ({ bvn_number }, bvn) => bvn_number === bvn,
  personIn: (record) => record.personal_info,
  phonesIn: (record) => [record.personal_info.phone_number, record.personal_info.phone_number_2],
  // Replaces the text of the source that has the record: that text may mean "not on a watch list".
  markWatchlisted: (record) => ({ ...record, watchlisted: 'YES' }),
  toBody: toBvnBody,
}

function needsOfNin({ findNin, acceptsVirtualNin, needsDetails }: Source, number: string) {
  if (!findNin) return undefined
  if (!isVirtualNin(number)) return needsDetails?.nin ?? []
  return acceptsVirtualNin ? (needsDetails?.virtual_nin ?? []) : undefined
}

function needsOfBvn({ findBvn, needsDetails }: Source) {
  return findBvn && (needsDetails?.bvn ?? [])
}

const hasDetails = (needed: readonly DetailField[] | undefined, { details }: Asked) =>
  needed?.every((field) => details?.[field] !== undefined) === true

function notOffered(name: string): never {
  throw new Error(`${name} does not offer this operation`)
}

function toNinBody(
  record: NinRecord,
  reference: string,
  request: VerificationRequest,
  pictureKey: KeyObject,
): NinResponse {
  const image_url = toImageUrl(record.personal_info.image_url, request, pictureKey)
  return {
    success: true,
    message: 'NIN verification completed successfully',
    data: {
      request_reference: reference,
      nin_number: record.nin_number,
      document_no: record.document_no,
      verification_status: 'VERIFIED',
      service_type: 'NIN',
      personal_info: { ...record.personal_info, image_url },
      next_of_kin: record.next_of_kin,
      residential_info: record.residential_info,
      indigene_info: record.indigene_info,
      education_profession: record.education_profession,
    },
  }
}

/** Pictures are served by this server. A link to a picture of the registry works for the key of this request alone. */
function toImageUrl(imageUrl: string, { origin, caller }: VerificationRequest, key: KeyObject): string {
  const path = toPicturePath(key, imageUrl, caller.keyId)
  return path.startsWith('/') ? origin + path : path
}

function toBvnBody(record: BvnRecord, reference: string): BvnResponse {
  return {
    success: true,
    message: 'BVN verification completed successfully',
    data: {
      request_reference: reference,
      bvn_number: record.bvn_number,
      name_on_card: record.name_on_card,
      enrolment_branch: record.enrolment_branch,
      enrolment_bank: record.enrolment_bank,
      formatted_registration_date: record.formatted_registration_date,
      level_of_account: record.level_of_account,
      nin: record.nin,
      watchlisted: record.watchlisted,
      verification_status: 'VERIFIED',
      service_type: 'BVN',
      personal_info: record.personal_info,
      residential_info: record.residential_info,
    },
  }
}
