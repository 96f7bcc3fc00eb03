import type { EventType } from '../contract/event.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { noteRemoval } from '../ledger/removal-table.ts'

/** Why an endpoint gets nothing: by hand, it answered 410, or it failed for five days. */
export type DisabledReason = 'operator' | 'gone' | 'failing'

export type NewEndpoint = {
  readonly id: string
  readonly name: string
  readonly url: string
  readonly createdAt: number
  /** Sealed. */
  readonly secret: Uint8Array
  readonly events: readonly EventType[]
  /** Lineages of the keys that it belongs to. Empty: it belongs to the operator and gets the events of all keys. */
  readonly lineages: readonly string[]
}

export type EndpointRow = NewEndpoint & {
  /** The secret before the last roll, which also signs until `previousUntil`. */
  readonly previousSecret: Uint8Array | undefined
  readonly previousUntil: number | undefined
  readonly disabledAt: number | undefined
  readonly disabledReason: DisabledReason | undefined
  /** The first of the failures that no success has followed. */
  readonly failingSince: number | undefined
  /** The receiver asked for a pause with Retry-After. */
  readonly pausedUntil: number
}

type Roll = { readonly secret: Uint8Array; readonly previousUntil: number }

/** The receivers of webhooks. */
export type WebhookTable = {
  /** False when there are `most` endpoints already. */
  readonly insert: (endpoint: NewEndpoint, most: number) => Promise<boolean>
  readonly find: (id: string) => Promise<EndpointRow | undefined>
  /** In the order of creation. */
  readonly list: () => Promise<EndpointRow[]>
  /** Replaces the secret; the present one stays valid until `previousUntil`. False when there is no such endpoint. */
  readonly roll: (id: string, roll: Roll) => Promise<boolean>
  /** False when it is disabled, or does not exist. */
  readonly disable: (id: string, now: number) => Promise<boolean>
  /** What waited goes on. False when it is enabled, or does not exist. */
  readonly enable: (id: string) => Promise<boolean>
  /** Its deliveries are deleted later, in small steps. False when it does not exist. */
  readonly remove: (id: string) => Promise<boolean>
}

const COLUMNS = `id, name, url, created_at, secret, previous_secret, previous_until, disabled_at, disabled_reason,
  failing_since, paused_until`

export function createWebhookTable(database: Database): WebhookTable {
  const find = database.prepare(`SELECT ${COLUMNS} FROM webhook_endpoints WHERE id = $1`)
  const list = database.prepare(`SELECT ${COLUMNS} FROM webhook_endpoints ORDER BY created_at, id`)
  const subscriptions = database.prepare(
    'SELECT endpoint_id, event, lineage FROM webhook_subscriptions ORDER BY endpoint_id, event, lineage',
  )
  const toEndpoints = async (rows: readonly Row[]) => {
    const byEndpoint = Map.groupBy(await subscriptions.all(), (row) => String(row.endpoint_id))
    return rows.map((row) => toEndpoint(row, byEndpoint.get(String(row.id)) ?? []))
  }
  const change = async (sql: string, ...values: (string | number | Uint8Array)[]) =>
    (await database.prepare(sql).run(...values)) > 0
  return {
    insert: (endpoint, most) => database.transaction((tx) => insertInTx(tx, endpoint, most)),
    find: async (id) => {
      const row = await find.get(id)
      return row && (await toEndpoints([row]))[0]
    },
    list: async () => toEndpoints(await list.all()),
    roll: (id, { secret, previousUntil }) =>
      change(
        `UPDATE webhook_endpoints SET previous_secret = secret, previous_until = $3, secret = $2 WHERE id = $1`,
        id,
        secret,
        previousUntil,
      ),
    disable: (id, now) => change(toDisable(database), id, now),
    enable: (id) => change(ENABLE, id),
    remove: (id) => database.transaction((tx) => removeInTx(tx, id)),
  }
}

const toDisable = (database: Database) => `UPDATE webhook_endpoints
  SET disabled_at = ${toSharedNow(database, 'CAST($2 AS BIGINT)')}, disabled_reason = 'operator'
  WHERE id = $1 AND disabled_at IS NULL`

const ENABLE = `UPDATE webhook_endpoints
  SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, paused_until = 0
  WHERE id = $1 AND disabled_at IS NOT NULL`

async function insertInTx(tx: Database, endpoint: NewEndpoint, most: number): Promise<boolean> {
  await tx.lock('webhook_endpoints')
  const row = await tx.prepare('SELECT COUNT(*) AS count FROM webhook_endpoints').get()
  if (Number(row?.count) >= most) return false
  const { id, name, url, createdAt, secret, events, lineages } = endpoint
  await tx
    .prepare(
      `INSERT INTO webhook_endpoints (id, name, url, created_at, secret, paused_until)
       VALUES ($1, $2, $3, $4, $5, 0)`,
    )
    .run(id, name, url, createdAt, secret)
  const subscribe = tx.prepare(
    'INSERT INTO webhook_subscriptions (endpoint_id, event, lineage) VALUES ($1, $2, $3)',
  )
  for (const event of events)
    for (const lineage of lineages.length > 0 ? lineages : ['']) await subscribe.run(id, event, lineage)
  return true
}

async function removeInTx(tx: Database, id: string): Promise<boolean> {
  await noteRemoval(tx, 'endpoint', id)
  await tx.prepare('DELETE FROM webhook_subscriptions WHERE endpoint_id = $1').run(id)
  return (await tx.prepare('DELETE FROM webhook_endpoints WHERE id = $1').run(id)) > 0
}

const toOptional = (value: unknown) => (value === null ? undefined : Number(value))

const toEndpoint = (row: Row, subscriptions: readonly Row[]): EndpointRow => ({
  id: String(row.id),
  name: String(row.name),
  url: String(row.url),
  createdAt: Number(row.created_at),
  secret: row.secret as Uint8Array,
  events: [...new Set(subscriptions.map(({ event }) => event as EventType))],
  lineages: [...new Set(subscriptions.map(({ lineage }) => String(lineage)))].filter((id) => id !== ''),
  previousSecret: (row.previous_secret as Uint8Array | null) ?? undefined,
  previousUntil: toOptional(row.previous_until),
  disabledAt: toOptional(row.disabled_at),
  disabledReason: (row.disabled_reason as DisabledReason | null) ?? undefined,
  failingSince: toOptional(row.failing_since),
  pausedUntil: Number(row.paused_until),
})
