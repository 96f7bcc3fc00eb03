import { randomBytes } from 'node:crypto'
import type { AuditEntry } from '../audit/row.ts'
import { createEvent, TEST_EVENT, toEventBody } from '../contract/event.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import type { KeyTable } from '../keys/key-table.ts'
import type { Post } from '../sources/http.ts'
import { type AttemptResult, attemptDelivery } from './attempt.ts'
import { toSecrets } from './deliver-one.ts'
import type { DeliveryTable } from './delivery-table.ts'
import { type EndpointRequest, readEndpointOptions } from './endpoint-options.ts'
import { createSecret, sealSecret } from './signature.ts'
import type { EndpointRow, WebhookTable } from './webhook-table.ts'

/** What changes of endpoints need. The audit row is written first; if that fails, nothing is changed. */
export type EndpointDeps = {
  readonly store: {
    readonly webhooks: WebhookTable
    readonly deliveries: DeliveryTable
    readonly keys: KeyTable
  }
  readonly keyring: Pick<Keyring, 'webhook-secret'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  /** The setting TABBAT_WEBHOOKS_PRIVATE. */
  readonly allowPrivate: boolean
}

/** An endpoint with its secret, which is shown once. */
export type NewSecret = { readonly secret: string; readonly row: EndpointRow }

/** Each has connections and lanes of its own. */
const MAX_ENDPOINTS = 100

export async function createEndpoint(deps: EndpointDeps, request: EndpointRequest): Promise<NewSecret> {
  const { store, keyring, audit, allowPrivate } = deps
  const options = readEndpointOptions(request, await store.keys.list(), allowPrivate)
  const id = `whk_${randomBytes(8).toString('hex')}`
  const secret = createSecret()
  const sealed = sealSecret(keyring['webhook-secret'], id, secret)
  await audit.record([toEntry('webhook_created', id, toGrantedText(options))])
  const row = { id, ...options, createdAt: steadyNow(), secret: sealed }
  if (!(await store.webhooks.insert(row, MAX_ENDPOINTS)))
    throw new UserError(`There are ${MAX_ENDPOINTS} endpoints, which is the most. Delete one first.`)
  return { secret, row: await findEndpoint(deps, id) }
}

/** Both secrets sign until the overlap ends, so that the receiver can change over at any time before. */
export async function rollEndpoint(deps: EndpointDeps, id: string, overlapMs: number): Promise<NewSecret> {
  const { store, keyring, audit } = deps
  await findEndpoint(deps, id)
  const secret = createSecret()
  await audit.record([toEntry('webhook_rolled', id)])
  const sealed = sealSecret(keyring['webhook-secret'], id, secret)
  if (!(await store.webhooks.roll(id, { secret: sealed, previousUntil: steadyNow() + overlapMs })))
    throw toUnknown()
  return { secret, row: await findEndpoint(deps, id) }
}

export async function disableEndpoint(deps: EndpointDeps, id: string): Promise<void> {
  if ((await findEndpoint(deps, id)).disabledAt !== undefined)
    throw new UserError(`Endpoint ${id} is disabled already.`)
  await deps.audit.record([toEntry('webhook_disabled', id)])
  await deps.store.webhooks.disable(id, steadyNow())
}

export async function enableEndpoint(deps: EndpointDeps, id: string): Promise<void> {
  if ((await findEndpoint(deps, id)).disabledAt === undefined)
    throw new UserError(`Endpoint ${id} is enabled already.`)
  await deps.audit.record([toEntry('webhook_enabled', id)])
  await deps.store.webhooks.enable(id)
}

export async function deleteEndpoint(deps: EndpointDeps, id: string): Promise<void> {
  const endpoint = await findEndpoint(deps, id)
  await deps.audit.record([toEntry('webhook_deleted', id, toGrantedText(endpoint))])
  await deps.store.webhooks.remove(id)
}

/** The same event with the same id, whatever became of it before. Its retries begin anew. */
export async function resendEvent(deps: EndpointDeps, id: string, eventId: string): Promise<void> {
  if ((await findEndpoint(deps, id)).disabledAt !== undefined)
    throw new UserError(`Endpoint ${id} is disabled. Enable it first.`)
  await deps.audit.record([toEntry('webhook_resent', id, isEventId(eventId) ? eventId : undefined)])
  if (!isEventId(eventId) || !(await deps.store.deliveries.resend(id, eventId, steadyNow())))
    throw new UserError('This endpoint has no such event. See: tabbat webhooks deliveries')
}

/** Sends a test event once, from this process. It is not stored and not repeated. */
export async function testEndpoint(deps: EndpointDeps, id: string, post: Post): Promise<AttemptResult> {
  const endpoint = await findEndpoint(deps, id)
  await deps.audit.record([toEntry('webhook_tested', id)])
  const at = steadyNow()
  const data = { reference: id, status: 'test' }
  const event = createEvent({ type: TEST_EVENT, at, keyId: '', reference: id, data })
  const secrets = toSecrets(deps.keyring['webhook-secret'], endpoint, at)
  const message = { id: event.id, at: Date.now(), body: toEventBody(event) }
  return attemptDelivery(post, { url: endpoint.url, secrets }, message)
}

export async function findEndpoint({ store }: Pick<EndpointDeps, 'store'>, id: string): Promise<EndpointRow> {
  const row = await store.webhooks.find(id)
  if (!row) throw toUnknown()
  return row
}

/** The id is not repeated: it may be a secret, pasted by mistake. */
const toUnknown = () => new UserError('There is no endpoint with this id. See: tabbat webhooks list')

const isEventId = (text: string) => /^evt_[0-9a-z]{33}$/.test(text)

/** The address without its path, which may hold a token. */
const toGrantedText = ({
  name,
  url,
  events,
  lineages,
}: Pick<EndpointRow, 'name' | 'url' | 'events' | 'lineages'>) =>
  `granted ${JSON.stringify({ name, origin: new URL(url).origin, events, keys: lineages })}`

const toEntry = (phase: string, id: string, detail?: string): AuditEntry => ({
  phase,
  outcome: 'ok',
  detail: ['endpoint', id, detail].filter(Boolean).join(' '),
})
