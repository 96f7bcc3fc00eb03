import { input, type Static, Type, withCheck } from './schema.ts'
import { readDay } from './time.ts'

/** Signs that may stand between the digits of a phone. */
export const SEPARATOR = '[ ().-]*'
export const spaced = (digits: string) => [...digits].join(SEPARATOR)

/** A Nigerian mobile in any of its usual spellings, as one pattern that clients can read in OpenAPI too. */
const PHONE_PATTERN =
  `^${SEPARATOR}(?:(?:\\+|${spaced('00')})?${SEPARATOR}${spaced('234')}|0)?${SEPARATOR}` +
  `[789]${SEPARATOR}[01](?:${SEPARATOR}[0-9]){8}${SEPARATOR}$`

/** Separators may stand anywhere, so the pattern is slow on long texts. */
const MAX_PHONE_LENGTH = 64

const phonePattern = new RegExp(PHONE_PATTERN)

export const phoneInput = input({
  pattern: PHONE_PATTERN,
  rule: 'must be a Nigerian mobile number, for example 08031234567 or +2348031234567',
  description: 'Phone number of the customer, in any usual spelling of a Nigerian mobile number.',
  example: '08031234567',
  pii: true,
})

/** The ten digits by which two phones are compared, or undefined when the text is not a Nigerian mobile. */
export function toPhoneCore(phone: string): string | undefined {
  const trimmed = phone.trim()
  if (trimmed.length > MAX_PHONE_LENGTH) return undefined
  return phonePattern.test(trimmed) ? trimmed.replace(/[^0-9]/g, '').slice(-10) : undefined
}

/** The spelling in responses: 0803… */
export const toLocalPhone = (core: string) => `0${core}`

/** Two letters, twelve digits, two letters: a token for one NIN, valid once and for 72 hours. It must not be stored. */
const VIRTUAL_NIN_PATTERN = '[A-Za-z]{2}[0-9]{12}[A-Za-z]{2}'
const VIRTUAL_NIN_LENGTH = 16

export const NIN_PATTERN = `^(?:[0-9]{11}|${VIRTUAL_NIN_PATTERN})$`

/** Of a number that was validated: all others have eleven digits. */
export const isVirtualNin = (number: string): boolean => number.length === VIRTUAL_NIN_LENGTH

/** A validated NIN as it is compared, hashed and sent. A virtual NIN is accepted in any case. */
export const toCanonicalNin = (nin: string): string => (isVirtualNin(nin) ? nin.toUpperCase() : nin)

const PERSON_NUMBER = { nin: new RegExp(NIN_PATTERN), bvn: /^[0-9]{11}$/ } as const

/** The number by which a person is searched or erased; undefined if the text is none. */
export const readPersonNumber = (kind: 'nin' | 'bvn', text: string): string | undefined =>
  PERSON_NUMBER[kind].test(text) ? toCanonicalNin(text) : undefined

/** What a request may say about the person besides the number and the phone, in the order of the header Tabbat-Match. */
export const DETAIL_FIELDS = ['first_name', 'last_name', 'date_of_birth'] as const
export type DetailField = (typeof DETAIL_FIELDS)[number]
export type PersonDetails = { readonly [Field in DetailField]?: string | undefined }

const nameInput = (whose: string, example: string) =>
  Type.Optional(
    input({
      pattern: "^(?=.*\\p{L})[\\p{L}\\p{M}'‘’ʼʻ`´.,()\\- ]+$",
      rule: 'must be a name of at most 100 letters, spaces, hyphens, apostrophes, dots, commas and parentheses',
      description: `${whose} name of the customer, to be compared with the record: see the response header Tabbat-Match.`,
      example,
      pii: true,
      maxLength: 100,
    }),
  )

/** Optional inputs of both verifications. Without them, nothing is compared. */
export const detailInputs = {
  first_name: nameInput('First', 'Amina'),
  last_name: nameInput('Last', 'Okafor'),
  date_of_birth: withCheck(
    Type.Optional(
      input({
        pattern: '^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}-(?:[0-9]{2}|[A-Za-z]{3})-[0-9]{4})$',
        rule: 'must be a day in the past, as 1990-01-05, 05-01-1990 (the day first) or 05-Jan-1990',
        description:
          'Date of birth of the customer, to be compared with the record: see the response header Tabbat-Match.',
        example: '1990-01-05',
        pii: true,
      }),
    ),
    (text) => readDay(text) !== undefined,
  ),
}

/** The details of a validated request; undefined if it has none. */
export function toDetails(request: Static<typeof DetailsShape>): PersonDetails | undefined {
  const { first_name, last_name, date_of_birth } = request
  if (first_name === undefined && last_name === undefined && date_of_birth === undefined) return undefined
  return { first_name, last_name, date_of_birth }
}

const DetailsShape = Type.Object(detailInputs)

/** Which details must match for a key that was made with --require-match. */
export const REQUIRE_MATCH = {
  name: ['first_name', 'last_name'],
  dob: ['date_of_birth'],
  both: DETAIL_FIELDS,
} as const satisfies Readonly<Record<string, readonly DetailField[]>>
export type RequireMatch = keyof typeof REQUIRE_MATCH
