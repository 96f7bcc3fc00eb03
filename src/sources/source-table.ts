import type { Database } from '../database/database.ts'
import { countPaidCall, type PaidCall, type Payer, refundPaidCall } from '../ledger/paid-calls.ts'
import { addKeySpend, refundKeySpend, type SpendKey } from './key-spend.ts'

/** State of the sources that all nodes share. */
export type SourceTable = {
  /** Names of the disabled sources. */
  readonly listDisabled: () => Promise<string[]>
  /** False when it was disabled already. */
  readonly disable: (name: string, at: number) => Promise<boolean>
  readonly enable: (name: string) => Promise<boolean>
  /**
   * Counts a call and its price, unless the day's spend would exceed the cap or the payer has used up its paid calls: then
   * nothing is counted. Exact under concurrency.
   */
  readonly spend: (request: SpendRequest) => Promise<Admission>
  /** Uncounts a call that was not billed. Never below zero, and each id once, however often it is sent. */
  readonly refund: (refund: Refund) => Promise<void>
  readonly listSpend: (day: number) => Promise<Spent[]>
  /** Paid calls of each key, in all months from one to another. */
  readonly listKeySpend: (from: string, to: string) => Promise<KeySpent[]>
  /** Stores how this node sees its sources, for the console and the command line. */
  readonly publish: (states: readonly PublishedState[]) => Promise<void>
  readonly listStates: (since: number) => Promise<PublishedState[]>
  /** Deletes the states of a node that stops. */
  readonly retire: (node: string) => Promise<void>
  readonly deleteExpired: (before: {
    states: number
    spendDay: number
    refundDay: number
    month: string
  }) => Promise<void>
}

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

export type Spent = { readonly name: string; readonly calls: number; readonly kobo: number }

type KeySpent = {
  readonly month: string
  readonly key_id: string
  readonly calls: number
  readonly kobo: number
}

export type PublishedState = {
  readonly node: string
  readonly name: string
  readonly operation: string
  /** JSON. */
  readonly state: string
  readonly at: number
}

export function createSourceTable(database: Database): SourceTable {
  const disabled = database.prepare('SELECT name FROM source_switches ORDER BY name')
  const spent = database.prepare('SELECT name, calls, kobo FROM source_spend WHERE day = $1 ORDER BY name')
  const keySpent = database.prepare(
    `SELECT month, key_id, SUM(calls) AS calls, SUM(kobo) AS kobo FROM key_spend
     WHERE month >= $1 AND month <= $2 GROUP BY month, key_id HAVING SUM(calls) > 0`,
  )
  const states = database.prepare(
    'SELECT node, name, operation, state, at FROM source_states WHERE at >= $1 ORDER BY name, operation, node',
  )
  return {
    listDisabled: async () => (await disabled.all()).map(({ name }) => String(name)),
    disable: async (name, at) =>
      (await database
        .prepare(
          'INSERT INTO source_switches (name, disabled_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
        )
        .run(name, at)) > 0,
    enable: async (name) =>
      (await database.prepare('DELETE FROM source_switches WHERE name = $1').run(name)) > 0,
    spend: (request) => database.transaction((tx) => spendInTx(tx, request)),
    refund: (refund) => database.transaction((tx) => refundInTx(tx, refund)),
    listSpend: async (day) =>
      (await spent.all(day)).map(({ name, calls, kobo }) => ({
        name: String(name),
        calls: Number(calls),
        kobo: Number(kobo),
      })),
    listKeySpend: async (from, to) =>
      (await keySpent.all(from, to)).map(({ month, key_id, calls, kobo }) => ({
        ...{ month: String(month), key_id: String(key_id), calls: Number(calls), kobo: Number(kobo) },
      })),
    publish: (list) =>
      database.transaction(async (tx) => {
        const save = tx.prepare(
          `INSERT INTO source_states (node, name, operation, state, at) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (node, name, operation) DO UPDATE SET state = excluded.state, at = excluded.at`,
        )
        for (const { node, name, operation, state, at } of list)
          await save.run(node, name, operation, state, at)
      }),
    listStates: async (since) => (await states.all(since)).map(toState),
    retire: async (node) => {
      await database.prepare('DELETE FROM source_states WHERE node = $1').run(node)
    },
    deleteExpired: async ({ states: statesBefore, spendDay, refundDay, month }) => {
      await database.prepare('DELETE FROM source_states WHERE at < $1').run(statesBefore)
      await database.prepare('DELETE FROM source_spend WHERE day < $1').run(spendDay)
      await database.prepare('DELETE FROM source_refunds WHERE day < $1').run(refundDay)
      await database.prepare('DELETE FROM key_spend WHERE month < $1').run(month)
    },
  }
}

/** The row that all calls of a source share is changed last, because it stays locked until the commit. */
async function spendInTx(tx: Database, request: SpendRequest): Promise<Admission> {
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
async function refundInTx(tx: Database, { id, name, day, kobo, payer, key }: Refund): Promise<void> {
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

const toState = (row: Readonly<Record<string, unknown>>): PublishedState => ({
  node: String(row.node),
  name: String(row.name),
  operation: String(row.operation),
  state: String(row.state),
  at: Number(row.at),
})
