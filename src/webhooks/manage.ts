import { randomBytes } from 'node:crypto'
import type { AuditEntry } from '../audit/row.ts'
import {
  createEvent,
  EVENT_TYPES,
  type EventType,
  KEY_EVENTS,
  TEST_EVENT,
  toEventBody,
} from '../contract/event.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import { steadyNow, toIsoTime } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import type { KeyRow, KeyTable } from '../keys/key-table.ts'
import type { Post } from '../sources/http.ts'
import { isPrivateAddress } from '../sources/public-address.ts'
import { type AttemptResult, attemptDelivery, createSecret, sealSecret } from './attempt.ts'
import { toSecrets } from './delivery.ts'
import type { DeliveryTable } from './delivery-table.ts'
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
const MAX_ENDPOINTS = 250

export async function createEndpoint(deps: EndpointDeps, request: EndpointRequest): Promise<NewSecret> {
  const { store, keyring, audit, allowPrivate } = deps
  const options = readEndpointOptions(request, await store.keys.list(), allowPrivate)
  const id = `whk_${randomBytes(8).toString('hex')}`
  const secret = createSecret()
  const sealed = sealSecret(keyring['webhook-secret'], id, secret)
  const entry = toEntry('webhook_created', id, toGrantedText(options))
  await audit.record([entry])
  const row = { id, ...options, createdAt: steadyNow(), secret: sealed }
  if (await store.webhooks.insert(row, MAX_ENDPOINTS)) return { secret, row: await findEndpoint(deps, id) }
  await audit.record([{ ...entry, outcome: 'refused' }])
  throw new UserError(`There are ${MAX_ENDPOINTS} endpoints, which is the most. Delete one first.`)
}

/** Both secrets sign until the overlap ends, so that the receiver can change over at any time before. */
export async function rollEndpoint(deps: EndpointDeps, id: string, overlapMs: number): Promise<NewSecret> {
  const { store, keyring, audit } = deps
  await findEndpoint(deps, id)
  const secret = createSecret()
  await audit.record([toEntry('webhook_rolled', id)])
  const sealed = sealSecret(keyring['webhook-secret'], id, secret)
  if (!(await store.webhooks.roll(id, { secret: sealed, previousUntil: steadyNow() + overlapMs })))
    throw unknownEndpointError()
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

/** One statement changes at most so many rows. */
export const MAX_RESENT = 1000

/** The oldest events that were given up since a time, again. Resolves to their number: after MAX_RESENT, there may be more. */
export async function resendFailedEvents(deps: EndpointDeps, id: string, since = 0): Promise<number> {
  if ((await findEndpoint(deps, id)).disabledAt !== undefined)
    throw new UserError(`Endpoint ${id} is disabled. Enable it first.`)
  const what = since === 0 ? 'all that failed' : `all that failed since ${toIsoTime(since)}`
  await deps.audit.record([toEntry('webhook_resent', id, what)])
  return deps.store.deliveries.resendFailed({ endpointId: id, since, most: MAX_RESENT }, steadyNow())
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
  if (!row) throw unknownEndpointError()
  return row
}

/** The id is not repeated: it may be a secret, pasted by mistake. */
const unknownEndpointError = () =>
  new UserError('There is no endpoint with this id. See: tabbat webhooks list')

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

type EndpointRequest = {
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  /** Ids of API keys. Empty: the endpoint belongs to the operator. */
  readonly keys: readonly string[]
}

type EndpointOptions = {
  readonly name: string
  readonly url: string
  readonly events: readonly EventType[]
  readonly lineages: readonly string[]
}

const MAX_URL = 2000
const MAX_KEYS = 50

/** Refuses bad input with a sentence that says what to give instead. */
function readEndpointOptions(
  request: EndpointRequest,
  keys: readonly Pick<KeyRow, 'id' | 'lineage'>[],
  allowPrivate: boolean,
): EndpointOptions {
  const lineages = readLineages(request.keys, keys)
  return {
    name: readEndpointName(request.name),
    url: readUrl(request.url, allowPrivate),
    events: readEvents(request.events, lineages.length > 0),
    lineages,
  }
}

function readEndpointName(text: string): string {
  const name = text.trim()
  if (!/^[^\p{Cc}]{1,80}$/u.test(name)) throw new UserError('Give a name of 1 to 80 characters.')
  if (holdsPersonNumber(name)) throw new UserError(`The name ${PERSON_NUMBER_RULE}.`)
  return name
}

/** The address is never repeated in a message: it may hold a token. */
function readUrl(text: string, allowPrivate: boolean): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || text.length > MAX_URL)
    throw new UserError('Give an address such as https://shop.example.com/webhooks.')
  if (url.username || url.password || url.hash)
    throw new UserError('Give an address without a user, a password and a #fragment.')
  if (url.protocol === 'http:' && !allowPrivate)
    throw new UserError(
      'Give an https address. Plain http is allowed only with TABBAT_WEBHOOKS_PRIVATE=on, for receivers in your own network.',
    )
  if (isPrivateAddress(url.hostname) && !allowPrivate)
    throw new UserError(
      'The address is private, loopback or link-local. If that is intended, set TABBAT_WEBHOOKS_PRIVATE=on.',
    )
  return url.href
}

function readEvents(given: readonly string[], isOfKeys: boolean): EventType[] {
  const known: readonly string[] = isOfKeys ? KEY_EVENTS : EVENT_TYPES
  const events = [...new Set(given)]
  if (events.length > 0 && events.every((event) => known.includes(event))) return events as EventType[]
  throw new UserError(
    isOfKeys
      ? `The events of an endpoint with keys are ${KEY_EVENTS.join(', ')}. Others go to endpoints without keys.`
      : `The events are ${EVENT_TYPES.join(', ')}.`,
  )
}

/** A key may be rolled: the endpoint belongs to its lineage. */
function readLineages(ids: readonly string[], keys: readonly Pick<KeyRow, 'id' | 'lineage'>[]): string[] {
  if (ids.length > MAX_KEYS) throw new UserError(`Give at most ${MAX_KEYS} keys.`)
  const lineages = ids.map((id) => {
    const key = keys.find((each) => each.id === id)
    if (!key) throw new UserError('One of the keys does not exist. See: tabbat keys list')
    return key.lineage
  })
  return [...new Set(lineages)]
}
