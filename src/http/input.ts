import type { TObject } from '../contract/schema.ts'
import { createValidate } from '../contract/validate.ts'
import { AppError } from '../errors.ts'
import { hasBody, withJsonBody } from './body.ts'
import type { Exchange, Reply } from './exchange.ts'

type Input = Record<string, string>

/** Where the inputs of an operation come from. A GET with a body takes a query string instead. */
export type InputPlace = 'body' | 'body or query' | 'path'

/** The part of an operation that describes its input. */
type InputShape = { readonly inputFrom: InputPlace; readonly request: TObject }

type UseInput = (exchange: Exchange, input: Input) => Reply | Promise<Reply>
/** Reads and validates the inputs of one operation, and answers with them. */
type WithInput = (exchange: Exchange) => Reply | Promise<Reply>

/** Without a body to read, no promise is made: it would cost more than the response. */
export function createWithInput(operation: InputShape, use: UseInput): WithInput {
  if (operation.inputFrom === 'path') return (exchange) => use(exchange, exchange.params as Input)
  const validate = createValidate(operation.request)
  if (operation.inputFrom === 'body')
    return (exchange) => withJsonBody(exchange, (body) => use(exchange, validate(body) as Input))
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
      ? withJsonBody(exchange, (body) => use(exchange, read(exchange.search, body)))
      : use(exchange, read(exchange.search, undefined))
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
