import { createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import type { Post } from '../sources/http.ts'
import { SourceError } from '../sources/source.ts'
import type { SourceProblem } from '../sources/source-problem.ts'
import { VERSION } from '../version.ts'

/** Why an attempt failed. `status` is a response other than 2xx. */
export type AttemptProblem = SourceProblem | 'status' | 'gone'

export type AttemptResult = {
  /** Undefined: there was no response. */
  readonly status: number | undefined
  readonly durationMs: number
  /** Undefined: delivered. */
  readonly problem: AttemptProblem | undefined
  readonly retryAfterMs: number | undefined
}

type Target = { readonly url: string; readonly secrets: readonly string[] }

/** Sends an event once. Any response of 2xx is a success; its body is ignored. */
export async function attemptDelivery(
  post: Post,
  { url, secrets }: Target,
  message: SignedMessage,
  signal?: AbortSignal,
): Promise<AttemptResult> {
  const startedAt = performance.now()
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Tabbat/${VERSION}`,
    ...toSignedHeaders(message, secrets),
  }
  const finish = (rest: Omit<AttemptResult, 'durationMs'>): AttemptResult => ({
    ...rest,
    durationMs: Math.round(performance.now() - startedAt),
  })
  try {
    const { status, retryAfterMs } = await post({ url, headers, body: message.body, signal })
    return finish({ status, problem: toProblem(status), retryAfterMs })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return finish({ status: undefined, problem: error.problem ?? 'cut_off', retryAfterMs: undefined })
  }
}

function toProblem(status: number): AttemptProblem | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status === 410) return 'gone'
  return status >= 300 && status < 400 ? 'redirected' : 'status'
}

/** What a problem means, and what to do. */
export const ATTEMPT_PROBLEMS: Readonly<Partial<Record<AttemptProblem, string>>> = {
  status: 'The receiver answered with a status other than 2xx.',
  gone: 'The receiver answered 410: it wants no more events. The endpoint was disabled.',
  redirected:
    'The receiver answered with a redirect, which is not followed. Create an endpoint with the new address.',
  no_such_host: 'The host name is not known. Check the address, and the DNS of this machine.',
  no_connection:
    'No connection can be made to that address. The receiver may be down, or a firewall blocks it.',
  slow_connection: 'The connection was not made within 2 seconds.',
  bad_certificate: 'The TLS certificate is not valid for this host.',
  no_tls: 'No TLS connection could be made. Check the address and the port.',
  private_address:
    'The host has a private, loopback or link-local address. If that is intended, set TABBAT_WEBHOOKS_PRIVATE=on.',
  plain_http:
    'The address is plain http. Create an endpoint with an https address. For a receiver in your own network, set TABBAT_WEBHOOKS_PRIVATE=on.',
  too_slow: 'The receiver did not answer within 15 seconds.',
  cut_off: 'The receiver closed the connection before it answered.',
}

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

type SignedMessage = {
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
