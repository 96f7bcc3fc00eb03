import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** The secret that an endpoint shares with Tabbat, as Standard Webhooks spells it. */
export const createSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/** Bound to the endpoint: a sealed secret cannot be moved to another row. */
const toBound = (endpointId: string) => toAssociatedData('webhook_endpoints', Buffer.from(endpointId), 1)

export const sealSecret = (key: KeyObject, endpointId: string, secret: string): Uint8Array =>
  seal(key, Buffer.from(secret), toBound(endpointId))

export const openSecret = (key: KeyObject, endpointId: string, sealed: Uint8Array): string =>
  unseal(key, sealed, toBound(endpointId)).toString()

export type SignedMessage = {
  readonly id: string
  /** When it is sent, in ms. */
  readonly at: number
  readonly body: string
}

/** The headers of Standard Webhooks, with a signature for each secret: after a roll there are two for a time. */
export function toSignedHeaders(
  { id, at, body }: SignedMessage,
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)).join(' '),
  }
}

function sign(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}
