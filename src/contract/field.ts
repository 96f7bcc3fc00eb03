import { type TProperties, Type } from './schema.ts'

/** A field of the contract that says nothing about a person. */
export const text = (description: string, example?: string) =>
  Type.String({ description, ...(example === undefined ? {} : { examples: [example] }) })

/** A field that holds personal data: it is marked in OpenAPI and never reaches a log. */
export const personal = (description: string, example?: string) =>
  Type.String({ description, 'x-pii': true, ...(example === undefined ? {} : { examples: [example] }) })

/** The three fields the contract allows to be null are built with this one. */
export const personalOrNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, 'x-pii': true })

/** An object with exactly these fields: all of them always there, nothing else. */
export const exactly = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })

/** A request object: unknown fields are ignored, because existing clients send extra ones. */
export const request = <T extends TProperties>(properties: T, description: string) =>
  Type.Object(properties, { additionalProperties: true, description })

/**
 * A field of a request. `rule` completes the sentence "<field> …" that a caller reads when the value does not
 * fit `pattern`; the pattern is tried after surrounding white space was trimmed.
 */
/** No input is longer: patterns are tried on short texts only. */
export const INPUT_MAX_LENGTH = 64

export const input = (options: {
  pattern: string
  rule: string
  description: string
  example: string
  pii?: boolean
}) =>
  Type.String({
    pattern: options.pattern,
    maxLength: INPUT_MAX_LENGTH,
    'x-rule': options.rule,
    description: options.description,
    examples: [options.example],
    ...(options.pii ? { 'x-pii': true } : {}),
  })
