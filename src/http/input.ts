import type { FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { Operation } from '../operations/operation.ts'
import { readJsonBody } from './body.ts'
import { createValidate } from './validate.ts'

/** Reads and validates the inputs of one operation, wherever they are. */
export type ReadInput = (request: FastifyRequest) => Promise<Record<string, string>>

export function createReadInput(operation: Operation): ReadInput {
  if (operation.inputFrom === 'path') return async ({ params }) => params as Record<string, string>
  const validate = createValidate(operation.request)
  if (operation.inputFrom === 'body')
    return async ({ raw }) => validate(await readJsonBody(raw)) as Record<string, string>
  const names = Object.keys(operation.request.properties)
  return async ({ raw, query }) => {
    const body = await readJsonBody(raw)
    const asked = pick(query, names)
    if (asked === undefined) return validate(body) as Record<string, string>
    if (body !== undefined && !isSameInput(asked, pick(body, names) ?? {}, names))
      throw new AppError('conflicting_input')
    return validate(asked) as Record<string, string>
  }
}

function pick(input: unknown, names: readonly string[]): Record<string, unknown> | undefined {
  if (typeof input !== 'object' || input === null) return undefined
  const found = names.filter((name) => Object.hasOwn(input, name))
  if (found.length === 0) return undefined
  return Object.fromEntries(found.map((name) => [name, (input as Record<string, unknown>)[name]]))
}

const isSameInput = (
  one: Record<string, unknown>,
  other: Record<string, unknown>,
  names: readonly string[],
) => names.every((name) => fold(one[name]) === fold(other[name]))

const fold = (value: unknown) => (typeof value === 'string' ? value.trim().toUpperCase() : value)
