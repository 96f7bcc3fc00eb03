import type { EventType } from '../contract/event.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  number,
  optional,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { noteRemoval } from '../ledger/removal-table.ts'

/** Why an endpoint gets nothing: by hand, it answered 410, or it failed for five days. */
export type DisabledReason = 'operator' | 'gone' | 'failing'

const ENDPOINT = defineColumns({
  id: text(),
  name: text(),
  url: text(),
  createdAt: number(),
  /** Sealed. */
  secret: bytes(),
  /** The secret before the last roll, which also signs until `previousUntil`. */
  previousSecret: optional(bytes()),
  previousUntil: optional(number()),
  disabledAt: optional(number()),
  disabledReason: optional(text<DisabledReason>()),
  /** The first of the failures that no success has followed. */
  failingSince: optional(number()),
  /** The receiver asked for a pause with Retry-After. */
  pausedUntil: number(),
})

type Subscriptions = {
  readonly events: readonly EventType[]
  /** Lineages of the keys that it belongs to. Empty: it belongs to the operator and gets the events of all keys. */
  readonly lineages: readonly string[]
}

export type EndpointRow = RowOf<typeof ENDPOINT> & Subscriptions

export type NewEndpoint = Pick<EndpointRow, 'id' | 'name' | 'url' | 'createdAt' | 'secret'> & Subscriptions

type Roll = { readonly secret: Uint8Array; readonly previousUntil: number }

/** The receivers of webhooks. */
export const webhookTable = defineTable({
  reads: (database) => {
    const find = database.prepare(`SELECT ${ENDPOINT.names} FROM webhook_endpoints WHERE id = $1`)
    const list = database.prepare(`SELECT ${ENDPOINT.names} FROM webhook_endpoints ORDER BY created_at, id`)
    const subscriptions = database.prepare(
      'SELECT endpoint_id, event, lineage FROM webhook_subscriptions ORDER BY endpoint_id, event, lineage',
    )
    const toEndpoints = async (rows: readonly Row[]): Promise<EndpointRow[]> => {
      const byEndpoint = Map.groupBy(await subscriptions.all(), (row) => String(row.endpoint_id))
      return rows.map((row) => ({
        ...ENDPOINT.decode(row),
        ...toSubscriptions(byEndpoint.get(String(row.id)) ?? []),
      }))
    }
    return {
      find: async (id: string) => {
        const row = await find.get(id)
        return row && (await toEndpoints([row]))[0]
      },
      /** In the order of creation. */
      list: async () => toEndpoints(await list.all()),
    }
  },
  writes: (database) => {
    const change = async (sql: string, ...values: (string | number | Uint8Array)[]) =>
      (await database.prepare(sql).run(...values)) > 0
    return {
      /** False when there are `most` endpoints already. */
      insert: (endpoint: NewEndpoint, most: number) =>
        database.transaction((tx) => insertEndpoint(tx, endpoint, most)),
      /** Replaces the secret; the present one stays valid until `previousUntil`. False when there is no such endpoint. */
      roll: (id: string, { secret, previousUntil }: Roll) => change(ROLL, id, secret, previousUntil),
      /** False when it is disabled, or does not exist. */
      disable: (id: string, now: number) => change(toDisable(database), id, now),
      /** What waited goes on. False when it is enabled, or does not exist. */
      enable: (id: string) => change(ENABLE, id),
      /** Its deliveries are deleted later, in small steps. False when it does not exist. */
      remove: (id: string) => database.transaction((tx) => removeEndpoint(tx, id)),
    }
  },
})
export type WebhookTable = TableOf<typeof webhookTable>

const toSubscriptions = (rows: readonly Row[]): Subscriptions => ({
  events: [...new Set(rows.map(({ event }) => event as EventType))],
  lineages: [...new Set(rows.map(({ lineage }) => String(lineage)))].filter((id) => id !== ''),
})

const ROLL =
  'UPDATE webhook_endpoints SET previous_secret = secret, previous_until = $3, secret = $2 WHERE id = $1'

const toDisable = (database: Database) => `UPDATE webhook_endpoints
  SET disabled_at = ${toSharedNow(database, 'CAST($2 AS BIGINT)')}, disabled_reason = 'operator'
  WHERE id = $1 AND disabled_at IS NULL`

const ENABLE = `UPDATE webhook_endpoints
  SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, paused_until = 0
  WHERE id = $1 AND disabled_at IS NOT NULL`

async function insertEndpoint(tx: Database, endpoint: NewEndpoint, most: number): Promise<boolean> {
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

async function removeEndpoint(tx: Database, id: string): Promise<boolean> {
  await noteRemoval(tx, 'endpoint', id)
  await tx.prepare('DELETE FROM webhook_subscriptions WHERE endpoint_id = $1').run(id)
  return (await tx.prepare('DELETE FROM webhook_endpoints WHERE id = $1').run(id)) > 0
}
