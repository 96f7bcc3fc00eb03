import type { Database } from '../database/database.ts'
import {
  defineColumns,
  defineTable,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { countPaidCall, type PaidCall, type Payer, refundPaidCall } from '../ledger/paid-calls.ts'

/** The key that a paid call is made for, and the month in Lagos time, such as 2026-11. */
type SpendKey = { readonly id: string; readonly month: string }

type SpendRequest = {
  readonly name: string
  readonly day: number
  readonly kobo: number
  readonly capKobo: number | null
  /** Absent without an Idempotency-Key, outside the queue. */
  readonly paidCall?: PaidCall | undefined
  /** Absent for calls that no key has caused. */
  readonly key?: SpendKey | undefined
}

type Admission = 'admitted' | 'spend_cap' | 'paid_calls'

export type Refund = Omit<SpendRequest, 'capKobo' | 'paidCall'> & {
  readonly id: string
  readonly payer?: Payer | undefined
}

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
    const spent = database.prepare(`SELECT ${SPENT.names} FROM source_spend WHERE day = $1 ORDER BY name`)
    const keySpent = database.prepare(
      `SELECT month, key_id, SUM(calls) AS calls, SUM(kobo) AS kobo FROM key_spend
       WHERE month >= $1 AND month <= $2 GROUP BY month, key_id HAVING SUM(calls) > 0`,
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
    /**
     * Counts a call and its price, unless the day's spend would exceed the cap or the payer has used up its paid calls: then
     * nothing is counted. Exact under concurrency.
     */
    spend: (request: SpendRequest) => database.transaction((tx) => spend(tx, request)),
    /** Uncounts a call that was not billed. Never below zero, and each id once, however often it is sent. */
    refund: (refunded: Refund) => database.transaction((tx) => refund(tx, refunded)),
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
      await database.prepare('DELETE FROM source_refunds WHERE day < $1').run(before.refundDay)
      await database.prepare('DELETE FROM key_spend WHERE month < $1').run(before.month)
    },
  }),
})
export type SourceTable = TableOf<typeof sourceTable>

type OldestKept = { states: number; spendDay: number; refundDay: number; month: string }

/** The row that all calls of a source share is changed last, because it stays locked until the commit. */
async function spend(tx: Database, request: SpendRequest): Promise<Admission> {
  const { paidCall, key } = request
  if (paidCall && !(await countPaidCall(tx, paidCall))) return 'paid_calls'
  if (key) await addKeySpend(tx, key, request)
  if (await spendMoney(tx, request)) return 'admitted'
  if (paidCall) await refundPaidCall(tx, paidCall.payer)
  if (key) await refundKeySpend(tx, key, request)
  return 'spend_cap'
}

/** One UPDATE decides: a call that would exceed the cap changes nothing. */
async function spendMoney(tx: Database, { name, day, kobo, capKobo }: SpendRequest): Promise<boolean> {
  await tx
    .prepare(
      `INSERT INTO source_spend (name, day, calls, kobo) VALUES ($1, $2, 0, 0)
       ON CONFLICT (name, day) DO NOTHING`,
    )
    .run(name, day)
  const most = capKobo ?? Number.MAX_SAFE_INTEGER
  const changed = await tx
    .prepare(
      `UPDATE source_spend SET calls = calls + 1, kobo = kobo + $3
       WHERE name = $1 AND day = $2 AND kobo + $3 <= $4`,
    )
    .run(name, day, kobo, most)
  return changed > 0
}

/** The id and the change are one commit, so a refund can be sent again when its confirmation is lost. */
async function refund(tx: Database, { id, name, day, kobo, payer, key }: Refund): Promise<void> {
  const isNew = await tx
    .prepare('INSERT INTO source_refunds (id, day) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING')
    .run(id, day)
  if (isNew === 0) return
  if (payer) await refundPaidCall(tx, payer)
  if (key) await refundKeySpend(tx, key, { name, kobo })
  await tx
    .prepare(
      `UPDATE source_spend SET calls = calls - 1, kobo = kobo - $3
       WHERE name = $1 AND day = $2 AND calls > 0 AND kobo >= $3`,
    )
    .run(name, day, kobo)
}

async function addKeySpend(
  tx: Database,
  { id, month }: SpendKey,
  { name, kobo }: Pick<Spent, 'name' | 'kobo'>,
): Promise<void> {
  await tx
    .prepare(
      `INSERT INTO key_spend (month, key_id, name, calls, kobo) VALUES ($1, $2, $3, 1, $4)
       ON CONFLICT (month, key_id, name) DO UPDATE SET
         calls = key_spend.calls + 1, kobo = key_spend.kobo + excluded.kobo`,
    )
    .run(month, id, name, kobo)
}

async function refundKeySpend(
  tx: Database,
  { id, month }: SpendKey,
  { name, kobo }: Pick<Spent, 'name' | 'kobo'>,
): Promise<void> {
  await tx
    .prepare(
      `UPDATE key_spend SET calls = calls - 1, kobo = kobo - $4
       WHERE month = $1 AND key_id = $2 AND name = $3 AND calls > 0 AND kobo >= $4`,
    )
    .run(month, id, name, kobo)
}
