import { Ajv } from 'ajv'
import { type Static, type TProperties, type TSchema, Type } from '../contract/schema.ts'
import { SourceError } from './source.ts'

/** A field of any type: vendors omit it, send null, or numbers for strings. It is checked where it is read. */
export const loose = Type.Optional(Type.Unsafe<unknown>({}))

/** An object with these fields; other fields are ignored. */
export const part = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: true })

/** An object of optional fields of any type. */
export const loosely = <Name extends string>(...names: readonly Name[]) =>
  part(Object.fromEntries(names.map((name) => [name, loose])) as Record<Name, typeof loose>)

/** A reply with a record that also reports a failure is a bad response. */
export function refuseContradiction(source: string, saysFailed: boolean): void {
  if (saysFailed) throw new SourceError(source, 'bad_response', { trouble: 'contradictory' })
}

/** Checks a reply against its shape; another shape is a bad response. */
export function createReader<T extends TSchema>(source: string, shape: T): (body: unknown) => Static<T> {
  const fits = new Ajv({ strict: false }).compile(shape as object)
  return (body) => {
    if (fits(body)) return body as Static<T>
    throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
  }
}
