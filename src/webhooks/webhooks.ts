import type { AuditEntry } from '../audit/row.ts'
import { createEvent, type NewEvent, OPERATOR_EVENTS } from '../contract/event.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { EventTable } from '../ledger/event-table.ts'
import type { ValuesOf } from '../settings/setting.ts'
import type { Prices } from '../sources/guard/shared-state.ts'
import { openPost, type Post } from '../sources/http.ts'
import type { SourceTable } from '../sources/source-table.ts'
import type { Log } from '../telemetry/log.ts'
import { createMemoryDelivery, MAX_RETRY_AFTER_MS, startDelivery, startPoll } from './delivery.ts'
import type { DeliveryTable } from './delivery-table.ts'
import type { WEBHOOK_SETTINGS } from './settings.ts'
import { createSourceWatch } from './source-watch.ts'
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
    deleteExpired: () =>
      store.deliveries.deleteExpired({ ageMs: config.webhooksLog, most: MAX_KEPT }, steadyNow()),
    close: async () => {
      memory.close()
      await watch.close()
      await delivery.close()
      await closePost()
    },
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
