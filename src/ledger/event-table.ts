import { type EventType, type NewEvent, toEventBody } from '../contract/event.ts'
import type { Database, Row } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'

/** What was last told about something that changes, such as a source. */
type EventState = { readonly name: string; readonly state: string }

type Change = {
  /** What changes; unique over all kinds. */
  readonly name: string
  readonly from: string
  readonly to: string
}

type UnloggedEvent = Pick<NewEvent, 'id' | 'type' | 'data'>

/** Events that are caused where there is no log. */
const LOGGED_LATER: readonly NewEvent['type'][] = [
  'batch.completed',
  'catalogue.changed',
] satisfies EventType[]
const MAX_UNLOGGED = 100

/** Events that endpoints of webhooks wait for. */
export const eventTable = defineTable({
  reads: (database) => {
    const states = database.prepare('SELECT name, state FROM event_states ORDER BY name')
    const unlogged = database.prepare('SELECT id, type, data FROM unlogged_events ORDER BY id LIMIT $1')
    return {
      listStates: async (): Promise<EventState[]> =>
        (await states.all()).map(({ name, state }) => ({ name: String(name), state: String(state) })),
      /** Some of the events that no server has written to its log. */
      listUnlogged: async () => (await unlogged.all(MAX_UNLOGGED)).map(toUnlogged),
    }
  },
  writes: (database) => ({
    /** Stores a delivery for each endpoint that wants an event. A repeated append of the same event has no effect. */
    append: (events: readonly NewEvent[]) => database.transaction((tx) => appendEvents(tx, events)),
    /**
     * Changes a state and appends its event, if the state still is `from`. Of several nodes that see the same change, one
     * succeeds. A name without a row has the state `''`.
     */
    change: (change: Change, event: NewEvent) => database.transaction((tx) => changeInTx(tx, change, event)),
    /** Of several nodes that want to write an event to the log, one succeeds. */
    markLogged: async (id: string) =>
      (await database.prepare('DELETE FROM unlogged_events WHERE id = $1').run(id)) > 0,
  }),
})
export type EventTable = TableOf<typeof eventTable>

const toUnlogged = ({ id, type, data }: Row): UnloggedEvent => ({
  id: String(id),
  type: type as EventType,
  data: JSON.parse(String(data)),
})

/**
 * Appends events inside a transaction of another table. Events of one reference must not be appended by two transactions at the
 * same time: the caller holds the row that the reference names.
 */
export async function appendEvents(tx: Database, events: readonly NewEvent[]): Promise<void> {
  const append = tx.prepare(toAppend(tx))
  for (const event of events) {
    const { id, type, reference, keyId, at, data } = event
    await append.run(id, type, reference, toEventBody(event), keyId, at)
    if (LOGGED_LATER.includes(type)) await tx.prepare(KEEP_FOR_LOG).run(id, type, JSON.stringify(data))
  }
}

const KEEP_FOR_LOG = `INSERT INTO unlogged_events (id, type, data) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`

/**
 * Endpoints of a key get the events of its lineage; those of the operator have the lineage '' and get the events of all keys.
 * The position is after all that are kept, because one that has ended may be resent. Ids of events do not order them: they have
 * the clock of a node.
 */
const toAppend = (database: Database) => `
  INSERT INTO webhook_deliveries
    (endpoint_id, event_id, type, reference, position, body, state, due_at, tries, attempts)
  SELECT e.id, $1, CAST($2 AS TEXT), CAST($3 AS TEXT),
    (SELECT COALESCE(MAX(position), 0) + 1 FROM webhook_deliveries),
    $4, 'pending', ${toSharedNow(database, 'CAST($6 AS BIGINT)')}, 0, 0
  FROM webhook_subscriptions s JOIN webhook_endpoints e ON e.id = s.endpoint_id
  WHERE s.event = CAST($2 AS TEXT) AND e.disabled_at IS NULL
    AND s.lineage IN ('', COALESCE((SELECT k.lineage FROM api_keys k WHERE k.id = CAST($5 AS TEXT)), CAST($5 AS TEXT)))
  ON CONFLICT (endpoint_id, event_id) DO NOTHING`

async function changeInTx(tx: Database, { name, from, to }: Change, event: NewEvent): Promise<boolean> {
  await tx
    .prepare(`INSERT INTO event_states (name, state, at) VALUES ($1, '', $2) ON CONFLICT (name) DO NOTHING`)
    .run(name, event.at)
  const changed = await tx
    .prepare('UPDATE event_states SET state = $3, at = $4 WHERE name = $1 AND state = $2')
    .run(name, from, to, event.at)
  if (changed > 0) await appendEvents(tx, [event])
  return changed > 0
}
