import { BvnRecord } from '../../contract/bvn.ts'
import { NinRecord } from '../../contract/nin.ts'
import { DETAIL_FIELDS } from '../../contract/person.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { answerOf, FIELD_SOURCE } from './answer-map.ts'
import { list, named, path, shape } from './shape.ts'

/**
 * The format of a vendor file. It describes what a vendor sends and answers; what follows from an answer is code. The descriptions are
 * shown by editors and stand in docs/vendors.md.
 */

const template = (description: string) => Type.String({ maxLength: 1000, description })

const templates = (description: string) =>
  Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: 1000 },
    description,
  })

export const SETTING_TYPES = ['credential', 'path', 'path_with_number', 'switch', 'pattern'] as const

const setting = shape(
  {
    type: Type.Optional(
      Type.Enum(SETTING_TYPES, {
        description:
          'credential (the default): ASCII without spaces. path: a path below the address. path_with_number: a path with {number} in it. switch: on or off; the value is true, or nothing. pattern: a regular expression of the operator.',
      }),
    ),
    help: Type.String({ minLength: 10, description: 'One sentence for docs/configuration.md.' }),
    required: Type.Optional(Type.Boolean({ description: 'The vendor cannot be used without it.' })),
    secret: Type.Optional(
      Type.Boolean({ description: 'Never shown. It may be given by a file: TABBAT_<NAME>_…_FILE.' }),
    ),
    default: Type.Optional(Type.String({ description: 'The value if the variable is not set.' })),
  },
  'A setting of this vendor. app_id becomes TABBAT_<NAME>_APP_ID.',
)

const request = shape(
  {
    method: Type.Enum(['GET', 'POST'], { description: 'The method.' }),
    path: template('The path below the address. Values in it are encoded.'),
    query: Type.Optional(templates('The query. A member is left out if its only value is missing.')),
    headers: Type.Optional(templates('Headers of this request only.')),
    body: Type.Optional(
      Type.Unsafe<unknown>({
        description:
          'The body, sent as JSON. Every text in it is a template. A member is left out if its only value is missing.',
      }),
    ),
  },
  'A request. {…} stands for a value: see docs/vendors.md.',
)

const basic = shape(
  { user: template('The user.'), password: template('The password.') },
  'The header Authorization: Basic.',
)

const authentication = shape(
  {
    headers: Type.Optional(templates('Headers of every request.')),
    basic: Type.Optional(basic),
    token: Type.Optional(
      shape(
        {
          request,
          basic: Type.Optional(basic),
          token_at: path('Where the token is in the answer.'),
          lifetime_at: Type.Optional(
            path('Where its lifetime in seconds is. Without one, a token is kept for ten minutes.'),
          ),
          header: Type.Optional(
            Type.String({
              pattern: '^[A-Za-z0-9-]+$',
              description: 'The header that carries the token. Default: authorization.',
            }),
          ),
          prefix: Type.Optional(
            Type.String({ description: 'What stands before the token in it. Default: "Bearer ".' }),
          ),
        },
        'A token that is fetched before the first request, and again when it has expired.',
      ),
    ),
    hmac: Type.Optional(
      shape(
        {
          algorithm: Type.Enum(['sha256', 'sha512'], { description: 'The hash.' }),
          key: template('The key.'),
          over: list(template('A part.'), 'The signed parts, in this order, with nothing between them.'),
          encoding: Type.Enum(['base64', 'hex'], { description: 'How the signature is written.' }),
        },
        'A signature of every request: {signature} stands for it.',
      ),
    ),
  },
  'How requests are authenticated.',
)

const need = shape(
  {
    detail: Type.Enum(DETAIL_FIELDS, { description: 'A detail of the person.' }),
    unless: Type.Optional(
      list(
        shape(
          {
            setting: Type.String({ description: 'The name of a setting.' }),
            is: Type.Optional(Type.String({ description: 'Its value.' })),
            contains: Type.Optional(Type.String({ description: 'A part of its value.' })),
          },
          'A value of a setting.',
        ),
        'It is not needed if one of these holds.',
      ),
    ),
  },
  'A detail without which the vendor is passed over.',
)

const operation = shape(
  {
    request,
    needs: Type.Optional(
      Type.Array(need, {
        maxItems: 200,
        description:
          'Details without which the vendor is passed over. A virtual_nin without this member needs what a nin needs.',
      }),
    ),
  },
  'One look-up.',
)

export const OUTCOMES = [
  'found',
  'not_found',
  'watch_listed',
  'names_differ',
  'refused',
  'no_funds',
  'throttled',
  'repeated',
  'malformed_request',
  'failure',
  'contradiction',
  'unknown',
  'by_status',
] as const
export type OutcomeName = (typeof OUTCOMES)[number]

type Scalar = string | number | boolean
const scalars = (description: string) =>
  Type.Unsafe<readonly Scalar[]>({
    type: 'array',
    minItems: 1,
    items: { type: ['string', 'number', 'boolean'] },
    description,
  })

const condition = shape(
  {
    status: Type.Optional(
      list(Type.Integer({ minimum: 200, maximum: 599 }), 'The HTTP status is one of these.'),
    ),
    values: Type.Optional(
      list(
        shape(
          {
            at: path('Where the value is in the answer.'),
            is: Type.Optional(scalars('It is one of these. A number may be written as a text.')),
            is_not: Type.Optional(scalars('It is there, also as null, and none of these.')),
          },
          'A value of the answer.',
        ),
        'All of these hold.',
      ),
    ),
    text: Type.Optional(
      shape(
        {
          at: Type.Optional(path('Where the text is. Default: error_text of the file.')),
          says: list(
            Type.String(),
            'It is one of these: names of lists in texts; no_such_person, phone_differs, temporary, funds, format; {setting} for the texts or the pattern of a setting.',
          ),
          unless: Type.Optional(list(Type.String(), 'And none of these.')),
        },
        'The text of an error. A list matches the complete text only.',
      ),
    ),
    present: Type.Optional(list(path('A member.'), 'All of these are there, and not null.')),
    any_present: Type.Optional(list(path('A member.'), 'One of these is there, and not null or empty.')),
    absent: Type.Optional(list(path('A member.'), 'None of these is there, or they are null.')),
    names_sent: Type.Optional(Type.Boolean({ description: 'Whether the request had a first name.' })),
  },
  'All parts of a condition must hold.',
)

const rule = shape(
  {
    name: Type.String({ minLength: 2, maxLength: 60, description: 'What the rule recognises, for people.' }),
    if: condition,
    // biome-ignore lint/suspicious/noThenProperty: the rule is never awaited.
    then: Type.Enum(OUTCOMES, { description: 'What the answer means: see docs/vendors.md.' }),
    status_at: Type.Optional(path('With by_status: where the status is in the answer.')),
  },
  'The first rule whose condition holds decides. If none does, the HTTP status decides, and it never means that there is no such person.',
)

const samples = shape(
  {
    nin: Type.Optional(Type.String({ pattern: '^[0-9]{11}$' })),
    virtual_nin: Type.Optional(Type.String({ pattern: '^[A-Za-z]{2}[0-9]{12}[A-Za-z]{2}$' })),
    bvn: Type.Optional(Type.String({ pattern: '^[0-9]{11}$' })),
    first_name: Type.Optional(Type.String()),
    last_name: Type.Optional(Type.String()),
    date_of_birth: Type.Optional(Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' })),
  },
  'The vendor’s own test numbers, for tabbat sources check. Never the number of a person.',
)

const vendorFile = shape(
  {
    $schema: Type.Optional(Type.String({ description: 'The address of the JSON Schema, for editors.' })),
    title: Type.String({ minLength: 2, maxLength: 60, description: 'The name of the vendor, for people.' }),
    documentation: shape(
      {
        url: Type.String({
          pattern: '^https://\\S+$',
          description: 'The address of the vendor’s documents.',
        }),
        read: Type.String({
          pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
          description: 'The day on which they were read.',
        }),
      },
      'What this file was written from.',
    ),
    address: Type.Optional(
      Type.String({
        pattern: '^https://[^\\s?#@]+$',
        description:
          'The address of the API, the default of TABBAT_<NAME>_URL. Without it, that variable is required.',
      }),
    ),
    settings: Type.Optional(named(setting, 'Credentials and choices of the operator.')),
    authentication: Type.Optional(authentication),
    operations: shape(
      {
        nin: Type.Optional(operation),
        virtual_nin: Type.Optional(operation),
        bvn: Type.Optional(operation),
      },
      'What the vendor can look up.',
    ),
    answers: shape(
      {
        nin: Type.Optional(answerOf(NinRecord, 'The answer to a NIN, and to a virtual NIN.')),
        virtual_nin: Type.Optional(answerOf(NinRecord, 'The answer to a virtual NIN, if it differs.')),
        bvn: Type.Optional(answerOf(BvnRecord, 'The answer to a BVN.')),
      },
      'Where the parts of an answer are.',
    ),
    error_text: Type.Optional(
      path('Where the text of an error is. Default: the first of message, detail and error that has one.'),
    ),
    rules: named(list(rule, 'Rules, in order.'), 'Lists of rules that say what an answer means.'),
    texts: Type.Optional(
      named(
        list(
          Type.String({ minLength: 2, maxLength: 200 }),
          'Complete texts. {number} stands for the number.',
        ),
        'Lists of texts for rules. Case, spaces and punctuation at the end make no difference.',
      ),
    ),
    samples: Type.Optional(samples),
  },
  'A vendor of identity checks, for Tabbat.',
)
export const VendorFile = { ...vendorFile, definitions: { field: FIELD_SOURCE } }
export type VendorFile = Static<typeof vendorFile>
export type VendorRequest = Static<typeof request>
export type VendorRule = Static<typeof rule>
export type Condition = Static<typeof condition>
export type VendorOperation = Static<typeof operation>
export const OPERATIONS = ['nin', 'virtual_nin', 'bvn'] as const
export type OperationName = (typeof OPERATIONS)[number]

/** The file without its remarks: what is left means something. */
export const withoutComments = <T>(value: T): T => {
  if (Array.isArray(value)) return value.map(withoutComments) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => name !== '$comment')
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutComments(inner)])) as T
}
