import { HOUR_MS, MINUTE_MS, readLagosTime } from '../../contract/time.ts'
import type { Send } from '../source.ts'
import { SourceError } from '../source.ts'
import { readTokenText, requireTokenReply, type Token, type TokenOptions } from '../token.ts'

export type Keys = { readonly publicKey: string; readonly secretKey: string; readonly tokenPath: string }

/** Given up before the end, in case that server's clock or time zone is another one. */
const EARLY_MS = 2 * HOUR_MS
const LEAST_MS = MINUTE_MS

/** That API gives a token for a public and a secret key. */
export const createFetchToken =
  (source: string, send: Send, { publicKey, secretKey, tokenPath }: Keys): TokenOptions['fetchToken'] =>
  async (call, askedAt) => {
    const basic = Buffer.from(`${publicKey}:${secretKey}`).toString('base64')
    const headers = { authorization: `Basic ${basic}` }
    const reply = await send({ method: 'POST', path: tokenPath, headers }, call)
    return readToken(source, requireTokenReply(source, reply), askedAt)
  }

/** Where exactly the token is has been seen in more than one place. */
export function readToken(source: string, body: unknown, askedAt: Date): Token {
  const top = within(body)
  if (top.success === false) throw new SourceError(source, 'refused', { trouble: 'credentials' })
  const data = within(top.data)
  const token = within(data.token)
  const text = token.access_token ?? token.token ?? data.access_token ?? top.token
  const expiresAt = readTime(token.expires_at ?? data.expires_at ?? top.expires_at)
  // One that seems to be over already is used all the same for a moment: its time may be misread, and a 401 tells.
  const lifetimeMs =
    expiresAt === undefined ? undefined : Math.max(expiresAt - EARLY_MS - askedAt.getTime(), LEAST_MS)
  return { text: readTokenText(source, text), lifetimeMs }
}

/** A time without a zone is taken as that of Lagos, which has no summer time. */
function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/.exec(value.trim()) ?? []
  const read = day === undefined ? Date.parse(value) : readLagosTime(`${day}T${time}`)
  return Number.isNaN(read) ? undefined : read
}

const within = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
