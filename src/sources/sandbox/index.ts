import type { BvnRecord } from '../../contract/bvn.ts'
import type { NinRecord } from '../../contract/nin.ts'
import { AppError } from '../../errors.ts'
import { type Answer, type BvnQuery, type NinQuery, type Source, SourceError } from '../source.ts'
import { toBvnRecord } from './bvn-record.ts'
import { toNinRecord } from './nin-record.ts'
import { type Person, toPerson } from './person.ts'

/** Synthetic people, derived from their numbers: every well-formed number is a person, except for the scenarios. */
export const createSandboxSource = (): Source => ({
  name: 'sandbox',
  findNin: async (query) => findNin(query),
  findBvn: async (query) => findBvn(query),
  acceptsVirtualNin: true,
  local: { findNin, findBvn },
})

const findNin = ({ nin, phone }: NinQuery): Answer<NinRecord> =>
  NIN_SCENARIOS[nin]?.(nin, phone) ?? { found: true, record: toNinRecord(nin, phone) }

const findBvn = ({ bvn, phone }: BvnQuery): Answer<BvnRecord> =>
  BVN_SCENARIOS[bvn]?.(bvn, phone) ?? { found: true, record: toBvnRecord(bvn, phone) }

/** Builds a record and drops it, so that "not found" takes as long as "found". */
const toNotFound = (number: string, phoneCore: string): { found: false } => {
  toNinRecord(number, phoneCore)
  return { found: false }
}
const fails = (reason: SourceError['reason']) => (): never => {
  throw new SourceError('sandbox', reason)
}
const isRateLimited = (): never => {
  throw new AppError('rate_limited')
}

/** Answered later: see verification/verify.ts. The first is an ordinary person. */
export const PENDING_NUMBERS: readonly string[] = ['00000000202', '00000000204']
/** Takes as long as a real time-out if the client asks for that. */
export const SLOW_NUMBER = '00000000504'

/** Numbers that end in the HTTP status of the response. The same for a NIN and a BVN. */
const OUTCOMES = {
  '00000000204': toNotFound,
  '00000000422': toNotFound,
  '00000000429': isRateLimited,
  '00000000502': fails('bad_response'),
  '00000000503': fails('unreachable'),
  [SLOW_NUMBER]: fails('timeout'),
} as const

type Scenario<T> = (number: string, phoneCore: string) => Answer<T>
const found = <T>(record: T): Answer<T> => ({ found: true, record })

const NIN_SCENARIOS: Readonly<Record<string, Scenario<NinRecord>>> = {
  ...OUTCOMES,
  '00000000001': (nin, phoneCore) => found(toSparseNinRecord(toNinRecord(nin, phoneCore))),
  '00000000003': (nin, phoneCore) => found(toNinRecord(nin, phoneCore, withLongNames(toPerson(nin)))),
}

const BVN_SCENARIOS: Readonly<Record<string, Scenario<BvnRecord>>> = {
  ...OUTCOMES,
  '00000000001': (bvn, phoneCore) => found(toSparseBvnRecord(toBvnRecord(bvn, phoneCore))),
  '00000000002': (bvn, phoneCore) => found({ ...toBvnRecord(bvn, phoneCore), watchlisted: 'YES' }),
  // The person of the NIN scenario; a linked NIN would give an ordinary name.
  '00000000003': (bvn, phoneCore) =>
    found({ ...toBvnRecord(bvn, phoneCore, withLongNames(toPerson(bvn))), nin: '' }),
}

function toSparseNinRecord(record: NinRecord): NinRecord {
  const empty = toEmpty(record)
  return {
    ...empty,
    nin_number: record.nin_number,
    personal_info: { ...empty.personal_info, phone_number: record.personal_info.phone_number },
  }
}

function toSparseBvnRecord(record: BvnRecord): BvnRecord {
  const empty = toEmpty(record)
  return {
    ...empty,
    bvn_number: record.bvn_number,
    formatted_registration_date: null,
    watchlisted: null,
    personal_info: {
      ...empty.personal_info,
      phone_number: record.personal_info.phone_number,
      phone_number_2: null,
    },
  }
}

/** The same fields, each "", also in nested objects. */
const toEmpty = <T extends object>(record: T): T =>
  Object.fromEntries(
    Object.entries(record).map(([field, value]) => [
      field,
      typeof value === 'object' && value !== null ? toEmpty(value) : '',
    ]),
  ) as T

/** Long, hyphenated and accented names find narrow columns, ASCII assumptions and fixed-width exports. */
const withLongNames = (person: Person): Person => ({
  ...person,
  gender: 'm',
  title: 'Mr',
  maritalStatus: 'Married',
  firstName: 'Olúwaṣẹ́gun-Ayọ̀bámi',
  middleName: 'Ọlátúńbọ̀sún Ọlánrewájú Ịfẹanyịchukwu-Ọbịọra',
  lastName: 'Adéṣínà-Ọ̀nàbánjọ Ńwáńkwọ',
  maidenName: '',
  address:
    `Flat 12B, Block 47, Ọbáfẹ́mi Awólọ́wọ̀ Memorial Housing Estate (Phase III Extension), ` +
    `off Old Waterworks Road, behind Saint Bartholomew's Anglican Primary School, ${person.home.town}`,
})
