import { type Static, type TSchema, Type } from '../../contract/schema.ts'
import { comment, list, PATH, path, shape } from './shape.ts'

/** Where the parts of an answer are: see schema.ts. */

const ASKED = ['first_name', 'last_name', 'date_of_birth'] as const

type Join = { readonly join: readonly string[] }

/** Where a value of the contract is in the answer. */
export type FieldSource =
  | string
  | Join
  | readonly (string | Join)[]
  | { readonly asked: (typeof ASKED)[number] }

const PATH_SHAPE = { type: 'string', pattern: PATH }
const JOIN_SHAPE = {
  type: 'object',
  required: ['join'],
  properties: { join: { type: 'array', minItems: 1, items: PATH_SHAPE } },
  additionalProperties: false,
}

/** Written once: the schema is compiled each time that a program checks files. */
export const FIELD_SOURCE = {
  'x-expected':
    'a path, a list of paths (the first that has a value), {"join": […]} or {"asked": "first_name"}',
  anyOf: [
    PATH_SHAPE,
    JOIN_SHAPE,
    { type: 'array', minItems: 1, items: { anyOf: [PATH_SHAPE, JOIN_SHAPE] } },
    {
      type: 'object',
      required: ['asked'],
      properties: { asked: { enum: ASKED } },
      additionalProperties: false,
    },
  ],
}

const fieldSource = (description: string) =>
  Type.Unsafe<FieldSource>({ description, $ref: '#/definitions/field' })

/** Fields that have a place of their own in the file, or are never taken from a vendor. */
export const NOT_MAPPED: readonly string[] = [
  'nin_number',
  'bvn_number',
  'phone_number',
  'phone_number_2',
  'image_url',
]

type Shape = { readonly description?: string; readonly properties?: Readonly<Record<string, Shape>> }

/** The contract's record, with a source for each field. */
const fieldsOf = (record: Shape): Shape => ({
  ...({ type: 'object', additionalProperties: false } as object),
  properties: {
    $comment: comment as Shape,
    ...Object.fromEntries(
      Object.entries(record.properties ?? {})
        .filter(([name]) => !NOT_MAPPED.includes(name))
        .map(([name, inner]) => [
          name,
          inner.properties ? fieldsOf(inner) : (fieldSource(inner.description ?? '') as Shape),
        ]),
    ),
  },
})

export type FieldMap = { readonly [Name in string]?: FieldSource | FieldMap }

const phoneSource = Type.Unsafe<string | { readonly asked: 'phone' }>({
  description: 'A path; or {"asked": "phone"} if a rule has compared it.',
  'x-expected': 'a path or {"asked": "phone"}',
  anyOf: [
    { type: 'string', pattern: PATH },
    {
      type: 'object',
      required: ['asked'],
      properties: { asked: { const: 'phone' } },
      additionalProperties: false,
    },
  ],
})

export const answerOf = (record: TSchema, description: string) =>
  shape(
    {
      rules: Type.String({ description: 'The name of the rules that read it.' }),
      record: list(
        Type.String({
          pattern: `^\\$$|${PATH}`,
          description: 'A path; $ for the whole answer.',
          'x-expected': 'a path such as data.bvn_data, or $ for the whole answer',
        }),
        'Where the record is: the first of these that is there. Paths below begin here; $. begins at the top of the answer.',
      ),
      number: Type.Optional(
        shape(
          {
            at: list(path('A path.'), 'Where the number of the person is: the first that is there.'),
            may_be_missing: Type.Optional(
              Type.Boolean({
                description: 'The vendor does not always repeat the number, by its documents.',
              }),
            ),
          },
          'The number in the answer. Another number than the requested one is a failure.',
        ),
      ),
      virtual_nin: Type.Optional(
        shape(
          {
            at: list(path('A path.'), 'Where the virtual NIN is repeated.'),
            may_be_missing: Type.Optional(
              Type.Boolean({ description: 'The vendor does not always repeat it, by its documents.' }),
            ),
          },
          'The virtual NIN in the answer to one.',
        ),
      ),
      phones: list(phoneSource, 'Where the phones are: all of them are compared.'),
      second_phones: Type.Optional(list(phoneSource, 'Phones for phone_number_2 of a BVN.')),
      reference: Type.Optional(path('Where the vendor’s own reference is, for the audit log.')),
      price: Type.Optional(
        path('Where the price of the call in naira is. Another one than in the settings is logged.'),
      ),
      same_fields: Type.Optional(
        Type.Boolean({ description: 'The record has the fields of the contract, by the same names.' }),
      ),
      fields: Type.Optional(
        Type.Unsafe<FieldMap>(fieldsOf(record as Shape) as Readonly<Record<string, unknown>>),
      ),
    },
    description,
  )

export type AnswerMap = Static<ReturnType<typeof answerOf>>
