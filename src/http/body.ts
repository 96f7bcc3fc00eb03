import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TObject } from '../contract/schema.ts'
import { createValidate } from '../contract/validate.ts'
import { AppError } from '../errors.ts'
import type { Exchange, Reply } from './exchange.ts'

const BODY_LIMIT_BYTES = 16 * 1024

/** The JSON in the body of a request of any method, or undefined when there is no body. */
export const readJsonBody = (exchange: Exchange, limit = BODY_LIMIT_BYTES): Promise<unknown> =>
  withJsonBody(exchange, (body) => body, limit)

/** The same, used as soon as the last byte has arrived: one promise for all steps, and none in between. */
function withJsonBody<T>(
  exchange: Exchange,
  use: (body: unknown) => T | Promise<T>,
  limit = BODY_LIMIT_BYTES,
): Promise<T> {
  const { raw } = exchange
  return new Promise((resolve, reject) => {
    if (!hasBody(raw)) return resolve(use(undefined))
    requireReadable(raw, limit)
    if (exchange.awaitsContinue) exchange.sendContinue()
    readBytes(raw, limit, (bytes) => resolve(use(parseJson(bytes))), reject)
  })
}

function requireReadable({ headers }: IncomingMessage, limit: number): void {
  if (!isJson(headers['content-type'])) throw new AppError('unsupported_media_type')
  if (!isIdentity(headers['content-encoding']))
    throw new AppError('unsupported_media_type', { headers: { 'accept-encoding': 'identity' } })
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLargeError()
}

export const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** A missing content type is taken as JSON: many clients forget it. */
function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json') return true
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase()
  return essence === 'application/json' || essence === ''
}

/** Compressed bodies are not read. Repeated headers arrive as one list. */
export const isIdentity = (contentEncoding: string | undefined) =>
  contentEncoding === undefined || /^[\s,]*(identity[\s,]*)*$/i.test(contentEncoding)

function readBytes(
  message: IncomingMessage,
  limit: number,
  use: (bytes: Buffer) => void,
  reject: (error: unknown) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  /** Nothing that happens after the last byte, or after a failure, changes the response. */
  let isOver = false
  const fail = (error: unknown) => {
    isOver = true
    reject(error)
  }
  const onAbort = () => {
    if (!isOver) fail(new AppError('malformed_request'))
  }
  message.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > limit) fail(tooLargeError())
    else chunks.push(chunk)
  })
  message.on('end', () => {
    if (isOver) return
    isOver = true
    try {
      use(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    } catch (error) {
      reject(error)
    }
  })
  // Emitted by connections.ts when the body is too slow.
  message.on('timeout', () => fail(tooSlowError()))
  message.on('error', onAbort)
  message.on('close', onAbort)
}

/** The rest of the body is not read, so the connection cannot be used again. */
const tooLargeError = () => new AppError('body_too_large', { headers: { connection: 'close' } })

const tooSlowError = () => new AppError('request_timeout', { headers: { connection: 'close' } })

/** Undefined for no bytes. The cause of a failure is left out: the parser's message quotes the body. */
function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  try {
    if (isUtf8(bytes)) return JSON.parse(bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0))
  } catch {}
  throw new AppError('malformed_json')
}

const hasByteOrderMark = (bytes: Buffer) => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/** Bytes that are received ahead of their use: the time limit of a body must not run while earlier rows are written. */
const MAX_AHEAD = 16 * 1024 * 1024
/** What a piece takes beside its bytes. A caller may send pieces of one byte. */
const PIECE_BYTES = 128
/** Pieces are joined and split to about this: thousands of very short rows, which take some milliseconds. */
const JOINED_BYTES = 16 * 1024

/** The body of a request piece by piece. Throws if it does not arrive whole. */
export async function* readBodyPieces(exchange: Exchange): AsyncGenerator<Buffer> {
  const { raw } = exchange
  if (!hasBody(raw)) return
  let pieces: Buffer[] = []
  let ahead = 0
  let end: 'whole' | AppError | undefined
  let wake = () => {}
  const onEnd = (how: 'whole' | AppError) => {
    end ??= how
    wake()
  }
  const listeners = {
    data: (piece: Buffer) => {
      pieces.push(piece)
      ahead += piece.length + PIECE_BYTES
      if (ahead >= MAX_AHEAD) raw.pause()
      wake()
    },
    end: () => onEnd('whole'),
    // Emitted by connections.ts when the body is too slow.
    timeout: () => onEnd(tooSlowError()),
    error: () => onEnd(new AppError('malformed_request')),
    close: () => onEnd(new AppError('malformed_request')),
  }
  for (const [name, listener] of Object.entries(listeners)) raw.on(name, listener)
  if (exchange.awaitsContinue) exchange.sendContinue()
  try {
    for (;;) {
      if (pieces.length > 0) {
        const received = pieces
        pieces = []
        ahead = 0
        yield* joinInTurns(received)
      } else if (end === 'whole') return
      else if (end) throw end
      else
        await new Promise<void>((resolve) => {
          wake = resolve
          raw.resume()
        })
    }
  } finally {
    for (const [name, listener] of Object.entries(listeners)) raw.off(name, listener)
  }
}

/**
 * Pieces of a few bytes each would cost more than their rows. After each there is a turn of the event loop for other requests:
 * a body may consist of very many rows, or of empty lines.
 */
async function* joinInTurns(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (let [start, end] = [0, 0]; start < pieces.length; start = end) {
    let length = 0
    while (end < pieces.length && length < JOINED_BYTES) length += (pieces[end++] as Buffer).length
    const joined = end - start === 1 ? (pieces[start] as Buffer) : Buffer.concat(pieces.slice(start, end))
    for (let at = 0; at < length; at += JOINED_BYTES) {
      yield joined.subarray(at, at + JOINED_BYTES)
      await nextTurn()
    }
  }
}

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
