import type {
  Static,
  TArray,
  TBoolean,
  TInteger,
  TLiteral,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TRecord,
  TSchema,
  TString,
  TUnsafe,
} from 'typebox'

type Options = Readonly<Record<string, unknown>>

/** Marks an optional property. Not enumerable, so it is not part of the JSON schema. */
const OPTIONAL = Symbol('optional')

const isOptional = (schema: object) => OPTIONAL in schema

/**
 * The part of TypeBox that the shapes need: plain JSON schemas at run time, TypeBox's own types for the compiler.
 * Loading TypeBox itself from a checkout delays the start beyond its limit: see docs/adr/0006.
 */
export const Type = {
  String: (options: Options = {}) => ({ type: 'string', ...options }) as unknown as TString,
  Boolean: (options: Options = {}) => ({ type: 'boolean', ...options }) as unknown as TBoolean,
  Number: (options: Options = {}) => ({ type: 'number', ...options }) as unknown as TNumber,
  Integer: (options: Options = {}) => ({ type: 'integer', ...options }) as unknown as TInteger,
  /** One of these texts. */
  Enum: <T extends string>(values: readonly T[], options: Options = {}) =>
    ({ type: 'string', enum: values, ...options }) as unknown as TUnsafe<T>,
  Nullable: <T extends TSchema>(schema: T) =>
    ({ anyOf: [schema, { type: 'null' }] }) as unknown as TUnsafe<Static<T> | null>,
  Literal: <T extends string | number | boolean>(value: T, options: Options = {}) =>
    ({ type: typeof value, const: value, ...options }) as unknown as TLiteral<T>,
  Array: <T extends TSchema>(items: T, options: Options = {}) =>
    ({ type: 'array', items, ...options }) as unknown as TArray<T>,
  Record: <T extends TSchema>(values: T, options: Options = {}) =>
    ({ type: 'object', additionalProperties: values, ...options }) as unknown as TRecord<'^.*$', T>,
  Optional: <T extends TSchema>(schema: T) =>
    Object.defineProperty({ ...schema }, OPTIONAL, { value: true }) as unknown as TOptional<T>,
  Unsafe: <T>(schema: Options) => schema as unknown as TUnsafe<T>,
  Object: <T extends TProperties>(properties: T, options: Options = {}) =>
    ({
      type: 'object',
      required: Object.keys(properties).filter((name) => !isOptional(properties[name] as object)),
      properties,
      ...options,
    }) as unknown as TObject<T>,
}

export type { Static, TObject, TProperties, TSchema }

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
