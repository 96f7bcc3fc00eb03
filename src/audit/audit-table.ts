import { CHECKPOINT_EVENT, createEvent } from '../contract/event.ts'
import { steadyNow } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import { createMonthTable, type MonthTable } from '../ledger/audit-months.ts'
import { AUDIT_COLUMNS, type FieldPolicy, type LoggedRow } from '../ledger/audit-row.ts'
import type { Append } from '../ledger/commit.ts'
import { createPackRows, type PackRows } from '../ledger/encoded-rows.ts'
import { appendEvents } from '../ledger/event-table.ts'
import { createPostgresAppend } from '../ledger/postgres-append.ts'
import { createSqliteAppend } from '../ledger/sqlite-append.ts'
import { type ChainTable, createChainTable, type Head } from './audit-chains.ts'
import { type AuditQueries, createAuditQueries } from './audit-queries.ts'
import { createSubjectQueries, type SubjectQueries } from './subject-queries.ts'

export type Checkpoint = { readonly time: string; readonly body: string; readonly signature: string }

/** Offers no update and no delete; triggers in the database refuse them as well. */
export type AuditTable = AuditQueries &
  ChainTable &
  MonthTable &
  SubjectQueries & {
    readonly packRows: PackRows
    readonly append: Append
    /** Stores the policies that rows refer to; those that exist stay as they are. */
    readonly insertPolicies: (policies: readonly FieldPolicy[]) => Promise<void>
    readonly head: (chain: string) => Promise<Head | undefined>
    readonly find: (chain: string, sequence: number) => Promise<LoggedRow | undefined>
    readonly byReference: (reference: string) => Promise<LoggedRow[]>
    /** The next rows of a chain, in order. */
    readonly page: (chain: string, after: number, most: number) => Promise<LoggedRow[]>
    readonly hashes: (chain: string, after: number, upTo: number) => Promise<Uint8Array[]>
    /** And the event that brings it to the endpoints that want it. */
    readonly insertCheckpoint: (checkpoint: Checkpoint) => Promise<void>
    readonly lastCheckpoint: () => Promise<Checkpoint | undefined>
    readonly listCheckpoints: () => Promise<Checkpoint[]>
    /** The first checkpoints that were made at a time or after it. */
    readonly checkpointsFrom: (time: string, most: number) => Promise<Checkpoint[]>
  }

const LIST = AUDIT_COLUMNS.join(', ')
/** The columns to read. */
const LOGGED = `${LIST}, CASE format WHEN 1 THEN fields_released
  ELSE (SELECT fields FROM field_policies WHERE id = fields_released) END AS released`
const INSERT_POLICY = 'INSERT INTO field_policies (id, fields) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'

export function createAuditTable(database: Database): AuditTable {
  const head = database.prepare(
    'SELECT sequence, hash FROM audit WHERE chain = $1 ORDER BY sequence DESC LIMIT 1',
  )
  const find = database.prepare(`SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence = $2`)
  const byReference = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE request_reference = $1 ORDER BY time, sequence`,
  )
  const page = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
  )
  // As one text: reading the hashes row by row costs several times as much.
  const hashes = database.prepare(
    `SELECT string_agg(${database.dialect === 'postgres' ? "encode(hash, 'hex')" : 'hex(hash)'}, '' ORDER BY sequence) AS hashes
     FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3`,
  )
  const lastCheckpoint = database.prepare(
    'SELECT time, body, signature FROM checkpoints ORDER BY time DESC LIMIT 1',
  )
  const listCheckpoints = database.prepare('SELECT time, body, signature FROM checkpoints ORDER BY time')
  const checkpointsFrom = database.prepare(
    'SELECT time, body, signature FROM checkpoints WHERE time >= $1 ORDER BY time LIMIT $2',
  )
  return {
    ...createAuditQueries(database, LOGGED),
    ...createChainTable(database),
    ...createMonthTable(database),
    ...createSubjectQueries(database, LOGGED),
    packRows: createPackRows(database),
    append: database.sync ? createSqliteAppend(database, database.sync) : createPostgresAppend(database),
    insertPolicies: (policies) =>
      database.transaction(async (tx) => {
        const values = policies.map(({ id, fields }) => [id, fields])
        await tx.prepare(INSERT_POLICY).runAll(values)
      }),
    head: async (chain) => {
      const row = await head.get(chain)
      return row && { sequence: Number(row.sequence), hash: row.hash as Uint8Array }
    },
    find: async (chain, sequence) => (await find.get(chain, sequence)) as LoggedRow | undefined,
    byReference: async (reference) => (await byReference.all(reference)) as LoggedRow[],
    page: async (chain, after, most) => (await page.all(chain, after, most)) as LoggedRow[],
    hashes: async (chain, after, upTo) =>
      toHashes(Buffer.from(String((await hashes.get(chain, after, upTo))?.hashes ?? ''), 'hex')),
    insertCheckpoint: (checkpoint) => database.transaction((tx) => insertCheckpoint(tx, checkpoint)),
    lastCheckpoint: async () => (await lastCheckpoint.get()) as Checkpoint | undefined,
    listCheckpoints: async () => (await listCheckpoints.all()) as Checkpoint[],
    checkpointsFrom: async (time, most) => (await checkpointsFrom.all(time, most)) as Checkpoint[],
  }
}

async function insertCheckpoint(tx: Database, { time, body, signature }: Checkpoint): Promise<void> {
  // The events of all nodes have one order.
  await tx.lock('checkpoints')
  await tx
    .prepare('INSERT INTO checkpoints (time, body, signature) VALUES ($1, $2, $3)')
    .run(time, body, signature)
  const reference = 'audit'
  const data = { reference, status: 'signed', time, body, signature }
  const event = createEvent({ type: CHECKPOINT_EVENT, at: steadyNow(), keyId: '', reference, data })
  await appendEvents(tx, [event])
}

const HASH_BYTES = 32

/** Hashes that follow one another. */
export const toHashes = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: bytes.length / HASH_BYTES }, (_each, index) =>
    bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
