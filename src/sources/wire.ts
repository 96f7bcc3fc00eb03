import { Ajv } from 'ajv'
import { type Static, type TProperties, type TSchema, Type } from '../contract/schema.ts'
import { SourceError } from './source.ts'

/** A field of a reply: vendors leave it out, send null, numbers for strings. It is judged where it is read. */
export const loose = Type.Optional(Type.Unsafe<unknown>({}))

/** An object of a reply. What it must have is required; what else is in it does not matter. */
export const part = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: true })

/** The same for many fields that only may be there. */
export const loosely = <Name extends string>(...names: readonly Name[]) =>
  part(Object.fromEntries(names.map((name) => [name, loose])) as Record<Name, typeof loose>)

/** An answer that holds a record and a sign of failure is no answer. */
export function refuseContradiction(source: string, saysFailed: boolean): void {
  if (saysFailed) throw new SourceError(source, 'bad_response', { trouble: 'contradictory' })
}

/** Reads a reply by its shape; another shape is a bad response. */
export function createReader<T extends TSchema>(source: string, shape: T): (body: unknown) => Static<T> {
  const fits = new Ajv({ strict: false }).compile(shape as object)
  return (body) => {
    if (fits(body)) return body as Static<T>
    throw new SourceError(source, 'bad_response', { trouble: 'unknown_shape' })
  }
}
