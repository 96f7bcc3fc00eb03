import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'

export const BODY_LIMIT_BYTES = 16 * 1024

/** The JSON in the body of a request of any method, or undefined when there is no body. */
export async function readJsonBody(message: IncomingMessage, limit = BODY_LIMIT_BYTES): Promise<unknown> {
  if (!hasBody(message)) return undefined
  if (!isJson(message.headers['content-type'])) throw new AppError('unsupported_media_type')
  const bytes = await readBytes(message, limit)
  return bytes.length === 0 ? undefined : parseJson(bytes)
}

export const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** A missing content type is taken as JSON: real clients forget it. */
function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json') return true
  const essence = contentType.split(';', 1)[0]?.trim().toLowerCase()
  return essence === 'application/json' || essence === ''
}

function readBytes(message: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(message.headers['content-length'] ?? 0) > limit) throw tooLarge()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let ended = false
    const breakOff = () => {
      if (!ended) reject(new AppError('malformed_request'))
    }
    message.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) reject(tooLarge())
      else chunks.push(chunk)
    })
    message.on('end', () => {
      ended = true
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    })
    // Too slow: see connections.ts.
    message.on('timeout', () => reject(tooSlow()))
    message.on('error', breakOff)
    message.on('close', breakOff)
  })
}

/** The rest of the body is not read, so the connection cannot be used again. */
const tooLarge = () => new AppError('body_too_large', { headers: { connection: 'close' } })

const tooSlow = () => new AppError('request_timeout', { headers: { connection: 'close' } })

/** The cause is left out on purpose: the parser's message quotes the body. */
function parseJson(bytes: Buffer): unknown {
  try {
    if (isUtf8(bytes)) return JSON.parse(bytes.toString())
  } catch {}
  throw new AppError('malformed_json')
}
