import { sample, stringMatching } from 'fast-check'

type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly minItems?: number
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

/** The smallest value that fits the schema, without optional fields. */
export function toSample(shape: object): unknown {
  const schema = shape as Schema
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return toSample(schema.anyOf[0] ?? {})
  if (schema.type === 'boolean') return false
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 0
  if (schema.type === 'array')
    return Array.from({ length: schema.minItems ?? 0 }, () => toSample(schema.items ?? {}))
  return schema.type === 'string' ? toText(schema) : toObject(schema)
}

function toText({ pattern, format, minLength = 1 }: Schema): string {
  if (pattern !== undefined)
    return sample(stringMatching(new RegExp(pattern)), { seed: 7, numRuns: 1 })[0] ?? ''
  return format === 'date-time'
    ? '2026-01-05T09:30:00.000Z'
    : 'sample words '.repeat(minLength).slice(0, minLength)
}

const toObject = ({ required = [], properties = {} }: Schema) =>
  Object.fromEntries(required.map((name) => [name, toSample(properties[name] ?? {})]))
