import type { Database, Row } from '../database/database.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'
import { deleteSome, ROWS_PER_STEP } from '../database/delete-some.ts'
import { UserError } from '../errors.ts'
import { monthOf } from '../ledger/audit-months.ts'
import { IS_RETIRED } from './audit-chains.ts'
import { CONSENT_INDEX, SUBJECT_INDEX } from './subject-table.ts'

/** An archive of the audit log: its signed statement, and whether its rows are removed from the database. */
export type ArchiveRow = {
  readonly number: number
  readonly statement: string
  readonly signature: string
  /** The time of its last checkpoint. */
  readonly checkpointsUntil: string
  readonly recordedAt: number
  /** Undefined while rows are still to be removed. */
  readonly removedAt: number | undefined
}

type NewArchive = Omit<ArchiveRow, 'removedAt'> & {
  /** Each with its last row. */
  readonly chains: readonly { readonly chain: string; readonly sequence: number }[]
}

/** A step of the removal: whether it must be called again, or another transaction reads what is to be removed. */
export type RemovalStep = 'more' | 'done' | 'busy'

/** Later than any heartbeat: servers of earlier versions take the chain for one in use. */
const FOR_EVER = Number.MAX_SAFE_INTEGER
const NO_PROCESS = 'archived'
const CHECKPOINTS_AT_ONCE = 200

export const archiveTable = defineTable({
  reads: (database) => {
    const list = database.prepare('SELECT * FROM audit_archives ORDER BY number')
    const count = database.prepare('SELECT COUNT(*) AS archives FROM audit_archives')
    return {
      list: async () => (await list.all()).map(toArchive),
      count: async () => Number((await count.get())?.archives ?? 0),
    }
  },
  writes: (database) => ({
    /** From now on its chains cannot be extended, and their rows can be removed. Refused if one was extended meanwhile. */
    record: (archive: NewArchive) => database.transaction((tx) => recordInTx(tx, archive)),
    /** Removes some rows, from the end of a chain: what is left is a sound chain. In PostgreSQL, whole months. */
    removeRows: async (number: number): Promise<RemovalStep> => {
      const chains = await listChains(database, number)
      const inMonths = database.dialect === 'postgres' ? chains.filter(monthOf) : []
      for (const month of new Set(inMonths.flatMap((chain) => monthOf(chain) ?? [])))
        if ((await dropMonth(database, month)) === 'busy') return 'busy'
      for (const chain of chains.filter((each) => !inMonths.includes(each)))
        if ((await removeEnd(database, chain)) > 0) return 'more'
      return 'done'
    },
    /** Removes some blocks of subjects and consents. */
    removeBlocks: async (number: number): Promise<RemovalStep> => {
      for (const table of BLOCK_TABLES)
        if ((await deleteSome(database, table, OF_ARCHIVE, number)) >= ROWS_PER_STEP) return 'more'
      return 'done'
    },
    /**
     * Removes checkpoints, of those after a time, which name no chain that is not archived. Returns the last time that was
     * read.
     */
    removeCheckpoints: (number: number, after: string) =>
      database.transaction((tx) => removeCheckpoints(tx, number, after)),
    finish: async (number: number, now: number) => {
      await database.prepare('UPDATE audit_archives SET removed_at = $2 WHERE number = $1').run(number, now)
    },
  }),
})
export type ArchiveTable = TableOf<typeof archiveTable>

const BLOCK_TABLES = [SUBJECT_INDEX, CONSENT_INDEX].flatMap(({ pages, blocks }) => [pages, blocks])
const OF_ARCHIVE = 'chain IN (SELECT chain FROM audit_chains WHERE archive = $1)'

const listChains = async (database: Database, number: number): Promise<string[]> =>
  (
    await database.prepare('SELECT chain FROM audit_chains WHERE archive = $1 ORDER BY chain').all(number)
  ).map(({ chain }) => String(chain))

async function recordInTx(tx: Database, archive: NewArchive): Promise<void> {
  const { number, statement, signature, checkpointsUntil, recordedAt, chains } = archive
  await tx.lock('audit:claim')
  await tx
    .prepare(
      `INSERT INTO audit_archives (number, statement, signature, checkpoints_until, recorded_at)
       VALUES ($1, $2, $3, $4, $5)`,
    )
    .run(number, statement, signature, checkpointsUntil, recordedAt)
  const take = tx.prepare(
    `UPDATE audit_chains SET archive = $2, owner = $3, beat_at = $4, retired_at = $4, archived_rows = $5
     WHERE chain = $1 AND archive IS NULL AND ${IS_RETIRED}
       AND (SELECT MAX(sequence) FROM audit WHERE audit.chain = audit_chains.chain) = $5`,
  )
  for (const { chain, sequence } of chains)
    if ((await take.run(chain, number, NO_PROCESS, FOR_EVER, sequence)) !== 1) throw toExtended(chain)
  await takeEmpty(tx, archive)
}

const toExtended = (chain: string) =>
  new UserError(
    `Chain ${chain} was extended or archived by another process meanwhile. No audit row was removed. Run the command again.`,
  )

/**
 * The chains of these months that have no rows are taken as well: PostgreSQL drops the month, so the process that claimed one
 * must begin another chain with its first row.
 */
async function takeEmpty(tx: Database, { number, chains }: NewArchive): Promise<void> {
  const months = new Set(chains.flatMap(({ chain }) => monthOf(chain) ?? []))
  const others = await tx.prepare('SELECT chain FROM audit_chains WHERE archive IS NULL').all()
  const take = tx.prepare(
    `UPDATE audit_chains SET archive = $2, owner = $3, beat_at = $4, retired_at = $4, archived_rows = 0
     WHERE chain = $1 AND NOT EXISTS (SELECT 1 FROM audit WHERE audit.chain = audit_chains.chain)`,
  )
  for (const chain of others.map((row) => String(row.chain)))
    if (months.has(monthOf(chain) ?? '') && (await take.run(chain, number, NO_PROCESS, FOR_EVER)) !== 1)
      throw toExtended(chain)
}

/** Consecutive rows share pages. */
const AUDIT_ROWS_PER_STEP = 1000

/** The rows of a step, from the end. PostgreSQL has such chains in a partition of their own, which alone allows it. */
async function removeEnd(database: Database, chain: string): Promise<number> {
  const table = database.dialect === 'postgres' ? 'audit_undated' : 'audit'
  const last = await database
    .prepare(`SELECT MAX(sequence) AS last FROM ${table} WHERE chain = $1`)
    .get(chain)
  if (last?.last === null || last?.last === undefined) return 0
  return database
    .prepare(`DELETE FROM ${table} WHERE chain = $1 AND sequence > $2`)
    .run(chain, Number(last.last) - AUDIT_ROWS_PER_STEP)
}

async function removeCheckpoints(tx: Database, number: number, after: string): Promise<string | undefined> {
  const page = await tx
    .prepare(
      `SELECT time, body FROM checkpoints WHERE time > $1
         AND time <= (SELECT checkpoints_until FROM audit_archives WHERE number = $2)
       ORDER BY time LIMIT ${CHECKPOINTS_AT_ONCE}`,
    )
    .all(after, number)
  const archived = new Set(
    (await tx.prepare('SELECT chain FROM audit_chains WHERE archive IS NOT NULL').all()).map(
      (row) => row.chain,
    ),
  )
  const removable = page.filter(({ body }) => {
    const { heads } = JSON.parse(String(body)) as { heads: readonly { chain: string }[] }
    return heads.length > 0 && heads.every(({ chain }) => archived.has(chain))
  })
  await tx
    .prepare('DELETE FROM checkpoints WHERE time = $1 AND body = $2')
    .runAll(removable.map(({ time, body }) => [String(time), String(body)]))
  return page.length < CHECKPOINTS_AT_ONCE ? undefined : String(page.at(-1)?.time)
}

const toArchive = (row: Row): ArchiveRow => ({
  number: Number(row.number),
  statement: String(row.statement),
  signature: String(row.signature),
  checkpointsUntil: String(row.checkpoints_until),
  recordedAt: Number(row.recorded_at),
  removedAt: row.removed_at === null ? undefined : Number(row.removed_at),
})

const LOCK_TIMEOUT = '300ms'
const LOCK_NOT_AVAILABLE = '55P03'
const NOT_ALLOWED = '42501'

/**
 * Detaches the partition, which is a table of its own then, and drops it. For the first, all other statements on the log wait:
 * not longer than the timeout. A month whose rows are not all archived is left as it is.
 */
async function dropMonth(database: Database, month: string): Promise<'done' | 'busy'> {
  const table = `audit_${month}`
  try {
    await database.transaction(async (tx) => {
      await tx.prepare(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`).run()
      const attached = await tx
        .prepare('SELECT 1 AS found FROM pg_inherits WHERE inhrelid = to_regclass($1)')
        .get(table)
      if (!attached) return
      await tx.prepare(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`).run()
      await refuseOtherRows(tx, table)
      await tx.prepare(`ALTER TABLE audit DETACH PARTITION ${table}`).run()
    })
    await database.transaction((tx) => tx.prepare(`DROP TABLE IF EXISTS ${table}`).run(), {
      patient: true,
    })
    return 'done'
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === LOCK_NOT_AVAILABLE) return 'busy'
    if (code !== NOT_ALLOWED) throw error
    throw new UserError(
      `The archive is recorded, but the partition ${table} cannot be dropped: the user of the database must own the table. Run the command again as its owner.`,
    )
  }
}

/** By the last row of each chain: chains are in audit_chains before they have rows. */
async function refuseOtherRows(tx: Database, table: string): Promise<void> {
  const other = await tx
    .prepare(
      `SELECT chain FROM audit_chains WHERE EXISTS (SELECT 1 FROM ${table} AS month
         WHERE month.chain = audit_chains.chain AND month.sequence > COALESCE(archived_rows, 0)) LIMIT 1`,
    )
    .get()
  if (other)
    throw new UserError(
      `The partition ${table} has rows of chain ${String(other.chain)} that are not archived. It was not removed.`,
    )
}
