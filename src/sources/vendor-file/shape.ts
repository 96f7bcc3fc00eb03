import { type Static, type TProperties, type TSchema, Type } from '../../contract/schema.ts'

/** What the parts of a vendor file are described with. `x-expected` completes "must be …" in an error. */

export const comment = Type.Optional(
  Type.Unsafe<unknown>({ description: 'A remark for readers. It may stand in every object of this file.' }),
)

export const shape = <T extends TProperties>(properties: T, description: string) =>
  Type.Object({ $comment: comment, ...properties }, { additionalProperties: false, description })

const NAME = '^(?:[a-z][a-z0-9_]{0,39}|\\$comment)$'
export const PATH = '^(?:\\$\\.)?[^.\\s$]+(?:\\.[^.\\s]+)*$'

/** Named parts of the file. */
export const named = <T extends TSchema>(values: T, description: string) =>
  Type.Unsafe<Readonly<Record<string, Static<T>>>>({
    type: 'object',
    properties: { $comment: comment },
    propertyNames: { pattern: NAME },
    additionalProperties: values,
    description,
  })

export const list = <T extends TSchema>(items: T, description: string) =>
  Type.Array(items, { minItems: 1, maxItems: 200, description })

export const path = (description: string) =>
  Type.String({
    pattern: PATH,
    description,
    'x-expected': 'the names of members separated by dots, such as data.bvn_data.phone',
  })
