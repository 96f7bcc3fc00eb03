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
