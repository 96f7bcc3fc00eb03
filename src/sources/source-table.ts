import {
  defineColumns,
  defineTable,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'

const SPENT = defineColumns({ name: text(), calls: number(), kobo: number() })
export type Spent = RowOf<typeof SPENT>

const KEY_SPENT = defineColumns({ month: text(), key_id: text(), calls: number(), kobo: number() })

const STATE = defineColumns({
  node: text(),
  name: text(),
  operation: text(),
  /** JSON. */
  state: text(),
  at: number(),
})
export type PublishedState = RowOf<typeof STATE>

/** State of the sources that all nodes share. */
export const sourceTable = defineTable({
  reads: (database) => {
    const disabled = database.prepare('SELECT name FROM source_switches ORDER BY name')
    // What nodes have leased is part of source_spend until it is given back.
    const spent = database.prepare(
      `SELECT name, SUM(calls) AS calls, SUM(kobo) AS kobo FROM (
         SELECT name, calls, kobo FROM source_spend WHERE day = $1
         UNION ALL SELECT name, calls, kobo - leased_kobo FROM spend_shares WHERE day = $1) AS spent
       GROUP BY name ORDER BY name`,
    )
    const keySpent = database.prepare(
      `SELECT month, key_id, SUM(calls) AS calls, SUM(kobo) AS kobo FROM (
         SELECT month, key_id, calls, kobo FROM key_spend WHERE month >= $1 AND month <= $2
         UNION ALL SELECT month, key_id, calls, kobo FROM key_spend_shares WHERE month >= $1 AND month <= $2) AS spent
       GROUP BY month, key_id HAVING SUM(calls) > 0`,
    )
    const states = database.prepare(
      `SELECT ${STATE.names} FROM source_states WHERE at >= $1 ORDER BY name, operation, node`,
    )
    return {
      /** Names of the disabled sources. */
      listDisabled: async () => (await disabled.all()).map(({ name }) => String(name)),
      listSpend: async (day: number) => (await spent.all(day)).map(SPENT.decode),
      /** Paid calls of each key, in all months from one to another. */
      listKeySpend: async (from: string, to: string) => (await keySpent.all(from, to)).map(KEY_SPENT.decode),
      listStates: async (since: number) => (await states.all(since)).map(STATE.decode),
    }
  },
  writes: (database) => ({
    /** False when it was disabled already. */
    disable: async (name: string, at: number) =>
      (await database
        .prepare(
          'INSERT INTO source_switches (name, disabled_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
        )
        .run(name, at)) > 0,
    enable: async (name: string) =>
      (await database.prepare('DELETE FROM source_switches WHERE name = $1').run(name)) > 0,
    /** Stores how this node sees its sources, for the console and the command line. */
    publish: (list: readonly PublishedState[]) =>
      database.transaction(async (tx) => {
        await tx
          .prepare(
            `INSERT INTO source_states (${STATE.names}) VALUES (${STATE.places})
             ON CONFLICT (node, name, operation) DO UPDATE SET state = excluded.state, at = excluded.at`,
          )
          .runAll(list.map(STATE.encode))
      }),
    /** Deletes the states of a node that stops. */
    retire: async (node: string) =>
      void (await database.prepare('DELETE FROM source_states WHERE node = $1').run(node)),
    deleteExpired: async (before: OldestKept) => {
      await database.prepare('DELETE FROM source_states WHERE at < $1').run(before.states)
      await database.prepare('DELETE FROM source_spend WHERE day < $1').run(before.spendDay)
      await database.prepare('DELETE FROM spend_shares WHERE day < $1').run(before.spendDay)
      await database.prepare('DELETE FROM source_refunds WHERE day < $1').run(before.refundDay)
      await database.prepare('DELETE FROM key_spend WHERE month < $1').run(before.month)
      await database.prepare('DELETE FROM key_spend_shares WHERE month < $1').run(before.month)
    },
  }),
})
export type SourceTable = TableOf<typeof sourceTable>

type OldestKept = { states: number; spendDay: number; refundDay: number; month: string }
