import type { AuditEntry } from '../audit/row.ts'
import { createEvent, type EventData, type NewEvent, OPERATOR_EVENTS } from '../contract/event.ts'
import { MINUTE_MS, steadyNow, toLagosDate, toLagosDay } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { ROWS_PER_STEP } from '../database/delete-some.ts'
import type { EventTable } from '../ledger/event-table.ts'
import type { ValuesOf } from '../settings/setting.ts'
import type { GuardFigures } from '../sources/guard/call-guard.ts'
import { LASTING_WARNINGS } from '../sources/guard/call-record.ts'
import { STATE_LIFE_MS } from '../sources/guard/shared-state.ts'
import { openPost, type Post } from '../sources/http.ts'
import type { PublishedState, SourceTable } from '../sources/source-table.ts'
import type { Prices } from '../sources/spend-leases.ts'
import type { Log } from '../telemetry/log.ts'
import { type Metric, toCounter, toGauge, toSample } from '../telemetry/metric.ts'
import { createMemoryDelivery, MAX_RETRY_AFTER_MS, startDelivery, startPoll } from './delivery.ts'
import type { DeliveryTable, Expired } from './delivery-table.ts'
import { toEndpointState } from './endpoint-view.ts'
import type { WEBHOOK_SETTINGS } from './settings.ts'
import type { DisabledReason, WebhookTable } from './webhook-table.ts'

export type Webhooks = {
  /** To be called after the commit that appended the event: writes it to the log, and delivers it without delay. */
  readonly announce: (event: NewEvent) => void
  /** Looks for deliveries that are due now. */
  readonly wake: () => void
  /** Tells that this process cannot write the audit log. The store may be unavailable, so it is sent from memory. */
  readonly reportAuditFailure: () => void
  /** For test events. */
  readonly post: Post
  /** Attempts of this process since the start. */
  readonly counts: { delivered: number; failed: number }
  readonly deleteExpired: () => Promise<number>
  readonly close: () => Promise<void>
}

type WebhooksOptions = {
  readonly store: {
    readonly events: EventTable
    readonly webhooks: WebhookTable
    readonly deliveries: DeliveryTable
    readonly sources: SourceTable
  }
  readonly keyring: Pick<Keyring, 'webhook-secret'>
  readonly config: ValuesOf<typeof WEBHOOK_SETTINGS>
  readonly log: Pick<Log, 'event' | 'failure'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  /** The name of this node. */
  readonly node: string
  readonly sourceChain: { readonly prices: Prices; readonly guards: readonly unknown[] }
}

const TIMEOUT_MS = 15_000
const MAX_REPLY_BYTES = 64 * 1024
/** The log of deliveries holds at most this many, besides those that are pending. */
const MAX_KEPT = 1_000_000
const WATCH_MS = 2000
/** An audit log that fails again within this time is not told again. */
const AUDIT_PAUSE_MS = 10 * MINUTE_MS

/** Opens the client of an endpoint. */
export const openWebhookPost = (allowPrivate: boolean) =>
  openPost({
    allowPrivate,
    timeoutMs: TIMEOUT_MS,
    maxReplyBytes: MAX_REPLY_BYTES,
    maxRetryAfterMs: MAX_RETRY_AFTER_MS,
  })

/** Delivers events to the endpoints, and finds out what the operator must be told. */
export function openWebhooks(options: WebhooksOptions): Webhooks {
  const { store, log, audit, config, node } = options
  const { prices, guards } = options.sourceChain
  const key = options.keyring['webhook-secret']
  const { post, close: closePost } = openWebhookPost(config.webhooksPrivate === 'on')
  const counts = { delivered: 0, failed: 0 }
  const onAttempt = (result: 'delivered' | 'failed') => {
    counts[result] += 1
  }
  const onDisabled = (endpoint: string, reason: DisabledReason) => {
    log.event('warn', 'webhook_disabled', { endpoint, reason })
    audit
      .record([{ phase: 'webhook_disabled', outcome: 'ok', detail: `endpoint ${endpoint} ${reason}` }])
      .catch(log.failure)
  }
  const delivery = startDelivery({
    table: store.deliveries,
    post,
    key,
    onAttempt,
    onDisabled,
    onError: log.failure,
    onGivenUp: ({ endpointId: endpoint, eventId, type }) =>
      log.event('warn', 'webhook_given_up', { endpoint, event_id: eventId, type }),
  })
  const memory = createMemoryDelivery({ table: store.webhooks, post, key, onAttempt, onError: log.failure })
  const announce = (event: NewEvent) => {
    logEvent(log, event)
    delivery.wake()
  }
  const watchSources = createSourceWatch({ ...store, prices, spendAlert: config.spendAlert, announce })
  const watch = startPoll(async () => {
    await memory.refresh()
    if (guards.length > 0) await watchSources()
    await logUnlogged(store.events, log)
  }, WATCH_MS)
  watch.now()
  let reportedAt = Number.NEGATIVE_INFINITY
  return {
    announce,
    wake: delivery.wake,
    reportAuditFailure: () => {
      if (performance.now() - reportedAt < AUDIT_PAUSE_MS) return
      reportedAt = performance.now()
      const event = toAuditEvent(node)
      logEvent(log, event)
      memory.send(event)
    },
    post,
    counts,
    deleteExpired: createCleanup(store.deliveries, { ageMs: config.webhooksLog, most: MAX_KEPT }),
    close: async () => {
      memory.close()
      await watch.close()
      await delivery.close()
      await closePost()
    },
  }
}

/** Deletes a step of what has expired. What that is, is looked for before the first step. */
export function createCleanup(table: DeliveryTable, kept: { readonly ageMs: number; readonly most: number }) {
  let expired: Expired | undefined
  return async (): Promise<number> => {
    expired ??= await table.findExpired(kept, steadyNow())
    const deleted = await table.deleteExpired(expired)
    if (deleted < ROWS_PER_STEP) expired = undefined
    return deleted
  }
}

const toAuditEvent = (node: string) => {
  const reference = `audit:${node}`
  const data = { reference, status: 'unavailable', node }
  return createEvent({ type: 'audit.unavailable', at: steadyNow(), keyId: '', reference, data })
}

const isOfOperator = (type: string) => (OPERATOR_EVENTS as readonly string[]).includes(type)

/** What is told to endpoints is in the log too. */
function logEvent(log: Pick<Log, 'event'>, { id, type, data }: Pick<NewEvent, 'id' | 'type' | 'data'>): void {
  const figures = Object.entries(data).filter(([, value]) => value !== null)
  const level = isOfOperator(type) && type !== 'source.up' && type !== 'catalogue.changed' ? 'warn' : 'info'
  log.event(level, type, {
    event_id: id,
    ...Object.fromEntries(figures.map(([name, value]) => [name, String(value)])),
  })
}

/** Events that commands and the store have caused. */
async function logUnlogged(events: EventTable, log: Pick<Log, 'event'>): Promise<void> {
  for (const event of await events.listUnlogged()) if (await events.markLogged(event.id)) logEvent(log, event)
}

type WatchOptions = {
  readonly events: EventTable
  readonly sources: SourceTable
  readonly prices: Prices
  /** The share of a daily cap, in percent, from which it is told; off: never. */
  readonly spendAlert: number | 'off'
  readonly announce: (event: NewEvent) => void
  readonly now?: () => number
}

/**
 * Compares the published states of the sources with what was last told, and tells the difference: source.down, source.up,
 * spend.near_cap. A source is down while it is on any node. Of several nodes that see a change, one tells it.
 *
 * What was told is read first. A node publishes its state before it tells, so the states read afterwards are as new.
 */
export function createSourceWatch(options: WatchOptions): () => Promise<void> {
  const { events, sources, prices, spendAlert, announce, now = steadyNow } = options
  const tell = async (change: { name: string; from: string; to: string }, event: NewEvent) => {
    if (await events.change(change, event)) announce(event)
  }
  const tellSources = async (told: ReadonlyMap<string, string>, at: number) => {
    const states = await sources.listStates(at - STATE_LIFE_MS)
    for (const [name, published] of Map.groupBy(states, toName)) {
      const reason = findReason(published)
      const [from, to] = [told.get(name) ?? '', reason === undefined ? '' : 'down']
      const isKnown = !published.every(({ state }) => readFigures(state).state === 'disabled')
      if (from !== to && isKnown) await tell({ name, from, to }, toSourceEvent(name, at, reason))
    }
  }
  const tellSpend = async (told: ReadonlyMap<string, string>, at: number, share: number) => {
    const day = toLagosDate(at)
    for (const { name: source, kobo } of await sources.listSpend(toLagosDay(at))) {
      const cap = prices[source]?.dailyCap
      if (cap === undefined || cap === 0 || kobo * 100 < cap * share) continue
      const [name, to] = [`spend:${source}`, `${day} ${share}`]
      const from = told.get(name) ?? ''
      if (from !== to) await tell({ name, from, to }, toSpendEvent(source, at, { day, kobo, cap }))
    }
  }
  return async () => {
    const at = now()
    const told = new Map((await events.listStates()).map(({ name, state }) => [name, state]))
    await tellSources(told, at)
    if (spendAlert !== 'off') await tellSpend(told, at, spendAlert)
  }
}

const toName = ({ name, operation }: PublishedState) => `source:${name}:${operation}`

const readFigures = (text: string) => JSON.parse(text) as GuardFigures

/** Undefined when the source works on every node. A problem that the operator must fix is named first. */
function findReason(published: readonly PublishedState[]): string | undefined {
  const figures = published.map(({ state }) => readFigures(state)).filter(({ state }) => state !== 'disabled')
  const warning = LASTING_WARNINGS.find((reason) => figures.some(({ warnings }) => warnings.includes(reason)))
  if (warning) return warning
  const down = figures.filter((each) => each.down)
  if (down.length === 0) return undefined
  return down.some(({ state }) => state !== 'closed') ? 'breaker_open' : 'failing'
}

const toOperatorEvent = (type: NewEvent['type'], at: number, reference: string, data: EventData) =>
  createEvent({ type, at, keyId: '', reference, data: { reference, ...data } })

function toSourceEvent(name: string, at: number, reason: string | undefined): NewEvent {
  const [, source = '', operation = ''] = name.split(':')
  return reason === undefined
    ? toOperatorEvent('source.up', at, name, { status: 'up', source, operation })
    : toOperatorEvent('source.down', at, name, { status: 'down', source, operation, reason })
}

const toSpendEvent = (
  source: string,
  at: number,
  { day, kobo, cap }: { day: string; kobo: number; cap: number },
) =>
  toOperatorEvent('spend.near_cap', at, `spend:${source}`, {
    status: 'near_cap',
    source,
    day,
    spent_naira: kobo / 100,
    cap_naira: cap / 100,
  })

export type WebhookCounts = Pick<Webhooks, 'counts'>

/** The webhooks that this process has sent. */
export const toWebhookMetrics = ({ counts }: WebhookCounts): Metric[] => [
  toCounter(
    'tabbat_webhook_attempts_total',
    'Attempts to deliver an event to an endpoint, by result.',
    Object.entries(counts).map(([result, count]) => toSample({ result }, count)),
  ),
]

/** The endpoints of all nodes. */
export const createEndpointMetrics = (table: Pick<WebhookTable, 'list'>) => async (): Promise<Metric[]> => {
  const states = (await table.list()).map(toEndpointState)
  const samples = (['active', 'failing', 'disabled'] as const).map((state) =>
    toSample({ state }, states.filter((each) => each === state).length),
  )
  return [toGauge('tabbat_webhook_endpoints', 'Endpoints of webhooks, by state.', samples)]
}
