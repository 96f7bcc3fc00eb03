import { readDay } from './date.ts'
import { input, withCheck } from './field.ts'
import { type Static, Type } from './schema.ts'

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
