import { type TProperties, type TSchema, Type } from './schema.ts'

/** A field without personal data. */
export const text = (description: string, example?: string) =>
  Type.String({ description, ...(example === undefined ? {} : { examples: [example] }) })

/** A field with personal data: marked in OpenAPI, never logged. */
export const personal = (description: string, example?: string) =>
  Type.String({ description, 'x-pii': true, ...(example === undefined ? {} : { examples: [example] }) })

/**
 * A field with personal data that is computed from other fields, or that usually repeats them. A key that hides one of them
 * hides this field too. They are given by their dotted names.
 */
export const derived = (from: readonly string[], description: string) =>
  Type.String({ description, 'x-pii': true, 'x-derived-from': from })

/** The names of both records. */
export const NAME_FIELDS = [
  'personal_info.first_name',
  'personal_info.middle_name',
  'personal_info.last_name',
]

/** For the three fields that the contract allows to be null. */
export const personalOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, 'x-pii': true })

/** An object with exactly these fields, all of them always present. */
export const exactly = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** A request object: unknown fields are ignored, because existing clients send extra ones. */
export const request = <T extends TProperties>(properties: T, description: string) =>
  Type.Object(properties, { additionalProperties: true, description })

/** Longer inputs are refused before a pattern is tried: matching a long text can be slow. */
const INPUT_MAX_LENGTH = 64

/**
 * A field of a request. `rule` completes the sentence "<field> …" of the error that a caller gets when the value does not
 * match `pattern`. Surrounding white space is trimmed first.
 */
export const input = (options: {
  pattern: string
  rule: string
  description: string
  example: string
  pii?: boolean
  maxLength?: number
}) =>
  Type.String({
    pattern: options.pattern,
    maxLength: options.maxLength ?? INPUT_MAX_LENGTH,
    'x-rule': options.rule,
    description: options.description,
    examples: [options.example],
    ...(options.pii ? { 'x-pii': true } : {}),
  })

const CHECK = Symbol('check')

/** A rule that no pattern can express. Not enumerable, so it is not part of the JSON schema. */
export const withCheck = <T extends TSchema>(schema: T, check: (text: string) => boolean): T =>
  Object.defineProperty(schema, CHECK, { value: check })

export const checkOf = (schema: object): ((text: string) => boolean) | undefined =>
  (schema as { readonly [CHECK]?: (text: string) => boolean })[CHECK]
