import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'
import type { Exchange } from './exchange.ts'

const BODY_LIMIT_BYTES = 16 * 1024

/** The JSON in the body of a request of any method, or undefined when there is no body. */
export const readJsonBody = (exchange: Exchange, limit = BODY_LIMIT_BYTES): Promise<unknown> =>
  withJsonBody(exchange, (body) => body, limit)

/** The same, used as soon as the last byte has arrived: one promise for all steps, and none in between. */
export function withJsonBody<T>(
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
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge()
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
    if (size > limit) fail(tooLarge())
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
  message.on('timeout', () => fail(tooSlow()))
  message.on('error', onAbort)
  message.on('close', onAbort)
}

/** The rest of the body is not read, so the connection cannot be used again. */
const tooLarge = () => new AppError('body_too_large', { headers: { connection: 'close' } })

export const tooSlow = () => new AppError('request_timeout', { headers: { connection: 'close' } })

/** Undefined for no bytes. The cause of a failure is left out: the parser's message quotes the body. */
function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  try {
    if (isUtf8(bytes)) return JSON.parse(bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0))
  } catch {}
  throw new AppError('malformed_json')
}

const hasByteOrderMark = (bytes: Buffer) => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
