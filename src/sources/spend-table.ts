import type { Database } from '../database/database.ts'
import { toSharedNow } from '../database/database-clock.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import { HEARTBEATS } from '../database/node-table.ts'
import type { Spending } from '../ledger/commit.ts'
import { type Payer, refundPaidCall } from '../ledger/paid-calls.ts'

/** Money that a node asks for, of the daily cap of a source. */
export type LeaseRequest = {
  readonly name: string
  readonly day: number
  /** The process, as in the table of nodes. */
  readonly node: string
  /** The price of one call, or what is missing to it. A lease is a multiple of it. Zero: only the rows are made. */
  readonly kobo: number
  /** Null: no cap. Then only the row of the node is made. */
  readonly capKobo: number | null
}

/** A call that was not billed, of which that became known after the last commit of its verification. */
export type LateRefund = Omit<Spending, 'calls' | 'isCapped'> & {
  /** Counts once, however often it is written. */
  readonly id: string
  readonly payer?: Payer | undefined
}

export type SpendTable = TableOf<typeof spendTable>

/** The most that a node leases at once, in calls. */
const MAX_LEASED_CALLS = 1000

const MINE = 'name = $1 AND day = $2 AND node = $3'
const ADD_SHARE = `INSERT INTO spend_shares (name, day, node, calls, kobo, leased_kobo) VALUES ($1, $2, $3, 0, 0, 0)
  ON CONFLICT (name, day, node) DO NOTHING`
const ADD_DAY =
  'INSERT INTO source_spend (name, day, calls, kobo) VALUES ($1, $2, 0, 0) ON CONFLICT (name, day) DO NOTHING'

/** What counts against the cap: what is leased, and what was spent without a lease, while there was no cap. */
const COUNTED = `SELECT source_spend.kobo + COALESCE((SELECT SUM(s.kobo - s.leased_kobo) FROM spend_shares s
    WHERE s.name = $1 AND s.day = $2 AND s.kobo > s.leased_kobo), 0) AS kobo
  FROM source_spend WHERE name = $1 AND day = $2`

/** The part of the daily caps that each node has leased. */
export const spendTable = defineTable({
  writes: (database) => ({
    /** Leases a part of what is left of the cap, which is less the less is left. Resolves to it; 0 when the cap is reached. */
    lease: async (request: LeaseRequest, now: number): Promise<number> => {
      const { name, day, node, capKobo } = request
      if (capKobo !== null) return database.transaction((tx) => leaseInTx(tx, request, now, capKobo))
      await database.prepare(ADD_SHARE).run(name, day, node)
      return 0
    },
    /** Gives back what a node has leased and not spent. */
    giveBack: ({ name, day, node }: Pick<LeaseRequest, 'name' | 'day' | 'node'>): Promise<void> =>
      database.transaction(async (tx) => {
        await lockDay(tx, name, day)
        await takeBack(tx, name, day, 'node = $3', [node])
      }),
    /** Uncounts a call. False if that was done before. */
    refund: (refund: LateRefund): Promise<boolean> => database.transaction((tx) => refundInTx(tx, refund)),
  }),
})

async function leaseInTx(
  tx: Database,
  { name, day, node, kobo }: LeaseRequest,
  now: number,
  capKobo: number,
): Promise<number> {
  await tx.prepare(ADD_DAY).run(name, day)
  await lockDay(tx, name, day)
  await tx.prepare(ADD_SHARE).run(name, day, node)
  if (kobo === 0) return 0
  const counted = tx.prepare(COUNTED)
  const readRoom = async () => capKobo - Number((await counted.get(name, day))?.kobo ?? 0)
  const alive = toAlive(tx)
  let room = await readRoom()
  if (room < kobo) {
    // A process that only seemed dead cannot spend what is taken back: its next commit finds its lease gone.
    await takeBack(tx, name, day, `node <> $3 AND NOT EXISTS (${alive('spend_shares.node', '$4')})`, [
      node,
      now,
    ])
    room = await readRoom()
  }
  const nodes = await tx.prepare(`SELECT COUNT(*) AS nodes FROM nodes WHERE ${toIsAlive(tx, '$1')}`).get(now)
  const part = Math.floor(room / (2 * Math.max(1, Number(nodes?.nodes ?? 1))))
  const wanted = Math.min(Math.max(part, kobo), MAX_LEASED_CALLS * kobo, room)
  const granted = Math.max(0, Math.floor(wanted / kobo) * kobo)
  if (granted === 0) return 0
  await tx
    .prepare('UPDATE source_spend SET kobo = kobo + $3 WHERE name = $1 AND day = $2')
    .run(name, day, granted)
  await tx
    .prepare(`UPDATE spend_shares SET leased_kobo = leased_kobo + $4 WHERE ${MINE}`)
    .run(name, day, node, granted)
  return granted
}

/** Leases of one source and day are made one after the other. SQLite has one writer at a time. */
async function lockDay(tx: Database, name: string, day: number): Promise<void> {
  if (tx.dialect === 'postgres')
    await tx.prepare('SELECT 1 FROM source_spend WHERE name = $1 AND day = $2 FOR UPDATE').get(name, day)
}

/** Ends leases: what is not spent can be leased again. */
async function takeBack(
  tx: Database,
  name: string,
  day: number,
  whose: string,
  values: readonly (string | number)[],
): Promise<void> {
  const unspent = await tx
    .prepare(
      `SELECT node, kobo, leased_kobo FROM spend_shares WHERE name = $1 AND day = $2 AND leased_kobo > kobo AND ${whose}
       ${tx.dialect === 'postgres' ? 'FOR UPDATE' : ''}`,
    )
    .all(name, day, ...values)
  const end = tx.prepare(`UPDATE spend_shares SET leased_kobo = kobo WHERE ${MINE}`)
  let kobo = 0
  for (const share of unspent) {
    await end.run(name, day, String(share.node))
    kobo += Number(share.leased_kobo) - Number(share.kobo)
  }
  if (kobo > 0)
    await tx
      .prepare('UPDATE source_spend SET kobo = kobo - $3 WHERE name = $1 AND day = $2')
      .run(name, day, kobo)
}

const toIsAlive = (tx: Database, now: string) =>
  `nodes.seen_at > ${toSharedNow(tx, now)} - ${HEARTBEATS[tx.dialect].deadMs}`

const toAlive = (tx: Database) => (node: string, now: string) =>
  `SELECT 1 FROM nodes WHERE nodes.owner = ${node} AND ${toIsAlive(tx, now)}`

/** The id and the change are one commit, so a refund can be sent again when its confirmation is lost. */
async function refundInTx(
  tx: Database,
  { id, name, day, node, kobo, key, payer }: LateRefund,
): Promise<boolean> {
  const isNew = await tx
    .prepare('INSERT INTO source_refunds (id, day) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING')
    .run(id, day)
  if (isNew === 0) return false
  if (payer) await refundPaidCall(tx, payer)
  // In the order of functions/commit-verifications.sql: another one can deadlock.
  await tx
    .prepare(`UPDATE spend_shares SET calls = calls - 1, kobo = kobo - $4 WHERE ${MINE}`)
    .run(name, day, node, kobo)
  if (key)
    await tx
      .prepare(
        `UPDATE key_spend_shares SET calls = calls - 1, kobo = kobo - $5
         WHERE month = $1 AND key_id = $2 AND name = $3 AND node = $4`,
      )
      .run(key.month, key.id, name, node, kobo)
  return true
}
