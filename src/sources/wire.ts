import { Ajv } from 'ajv'
import { type Static, type TProperties, type TSchema, Type } from '../contract/schema.ts'
import { SourceError } from './source.ts'

/** A field of any type: vendors omit it, send null, or numbers for strings. It is checked where it is read. */
export const anyValue = Type.Optional(Type.Unsafe<unknown>({}))

/** An object with these fields; other fields are ignored. */
export const objectWith = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: true })

/** An object of optional fields of any type. */
export const optionalFields = <Name extends string>(...names: readonly Name[]) =>
  objectWith(Object.fromEntries(names.map((name) => [name, anyValue])) as Record<Name, typeof anyValue>)

/** A reply with a record that also reports a failure is a bad response. */
export function refuseContradiction(source: string, saysFailed: boolean): void {
  if (saysFailed) throw new SourceError(source, 'bad_response', { problem: 'contradictory' })
}

/** Checks a reply against its shape; another shape is a bad response. */
export function createReader<T extends TSchema>(source: string, shape: T): (body: unknown) => Static<T> {
  const fits = new Ajv({ strict: false }).compile(shape as object)
  return (body) => {
    if (fits(body)) return body as Static<T>
    throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
  }
}
