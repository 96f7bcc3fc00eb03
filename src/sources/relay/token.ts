import { HOUR_MS, MINUTE_MS, readLagosTime } from '../../contract/time.ts'
import { saysFailure } from '../failure-signs.ts'
import { toFields } from '../record.ts'
import type { Send } from '../source.ts'
import { SourceError } from '../source.ts'
import { readTokenText, requireTokenReply, type Token, type TokenOptions } from '../token.ts'

export type Keys = { readonly publicKey: string; readonly secretKey: string; readonly tokenPath: string }

/** Renewed early, in case the clock or time zone of that server differs. */
const EARLY_MS = 2 * HOUR_MS
const LEAST_MS = MINUTE_MS

/** Fetches a token for a public and a secret key. */
export const createFetchToken =
  (source: string, send: Send, { publicKey, secretKey, tokenPath }: Keys): TokenOptions['fetchToken'] =>
  async (call, requestedAt) => {
    const basic = Buffer.from(`${publicKey}:${secretKey}`).toString('base64')
    const headers = { authorization: `Basic ${basic}` }
    const reply = await send({ method: 'POST', path: tokenPath, headers }, call)
    return readToken(source, requireTokenReply(source, reply), requestedAt)
  }

/** Servers of this API return the token in different places. */
export function readToken(source: string, body: unknown, requestedAt: Date): Token {
  const top = toFields(body)
  // A wrong key may be answered with 200.
  if (saysFailure(body)) throw new SourceError(source, 'refused', { problem: 'credentials' })
  const data = toFields(top.data)
  const token = toFields(data.token)
  const text = token.access_token ?? token.token ?? data.access_token ?? top.token
  const expiresAt = readTime(token.expires_at ?? data.expires_at ?? top.expires_at)
  // A token that seems to have expired is still used for a minute: its time may be misread, and a 401 would show it.
  const lifetimeMs =
    expiresAt === undefined ? undefined : Math.max(expiresAt - EARLY_MS - requestedAt.getTime(), LEAST_MS)
  return { text: readTokenText(source, text), lifetimeMs }
}

/** A time without a zone is Lagos time. */
function readTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const [, day, time] = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)$/.exec(value.trim()) ?? []
  const read = day === undefined ? Date.parse(value) : readLagosTime(`${day}T${time}`)
  return Number.isNaN(read) ? undefined : read
}
