import type { TObject } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { hasBody, readJsonBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { createValidate } from './validate.ts'

type Input = Record<string, string>

/** Where the inputs of an operation come from. A GET with a body takes a query string instead. */
export type InputPlace = 'body' | 'body or query' | 'path'

/** The part of an operation that describes its input. */
type InputShape = { readonly inputFrom: InputPlace; readonly request: TObject }

/** Reads and validates the inputs of one operation. */
type ReadInput = (exchange: Exchange) => Input | Promise<Input>

export function createReadInput(operation: InputShape): ReadInput {
  if (operation.inputFrom === 'path') return ({ params }) => params as Input
  const validate = createValidate(operation.request)
  if (operation.inputFrom === 'body')
    return (exchange) => readJsonBody(exchange).then(validate as (body: unknown) => Input)
  const names = Object.keys(operation.request.properties)
  const read = (search: string, body: unknown): Input => {
    const asked = pick(readQuery(search), names)
    if (asked === undefined) return validate(body) as Input
    if (body !== undefined && !isSameInput(asked, pick(body, names) ?? {}, names))
      throw new AppError('conflicting_input')
    return validate(asked) as Input
  }
  return (exchange) =>
    hasBody(exchange.raw)
      ? readJsonBody(exchange).then((body) => read(exchange.search, body))
      : read(exchange.search, undefined)
}

/** A repeated name becomes a list, which no input accepts. */
function readQuery(search: string): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [name, value] of new URLSearchParams(search)) {
    const known = Object.hasOwn(query, name) ? query[name] : undefined
    query[name] = known === undefined ? value : [known, value]
  }
  return query
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
