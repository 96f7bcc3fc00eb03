import { setImmediate as nextTurn } from 'node:timers/promises'
import { CHECKPOINT_EVENT, createEvent } from '../contract/event.ts'
import { steadyNow } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import { createMonthTable } from '../ledger/audit-months.ts'
import { AUDIT_COLUMNS, type FieldPolicy, type LoggedRow } from '../ledger/audit-row.ts'
import { createPackRows } from '../ledger/encoded-rows.ts'
import { appendEvents } from '../ledger/event-table.ts'
import { createPostgresAppend } from '../ledger/postgres-append.ts'
import type { QueueGroups } from '../ledger/queue-rows.ts'
import { createSqliteAppend } from '../ledger/sqlite-append.ts'
import { createChainReads, createChainWrites, type Head } from './audit-chains.ts'
import { compareTime, createAuditQueries } from './audit-queries.ts'
import { findInPage, toBucket } from './subject-blocks.ts'
import {
  type BlockIndex,
  CONSENT_INDEX,
  type IndexedChain,
  SUBJECT_INDEX,
  toIndexedChain,
  toListChains,
} from './subject-table.ts'

export type Checkpoint = { readonly time: string; readonly body: string; readonly signature: string }

const LIST = AUDIT_COLUMNS.join(', ')
/** The columns to read. */
const LOGGED = `${LIST}, CASE format WHEN 1 THEN fields_released
  ELSE (SELECT fields FROM field_policies WHERE id = fields_released) END AS released`
const INSERT_POLICY = 'INSERT INTO field_policies (id, fields) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'

const refuse = () => {
  throw new Error('this connection only reads the log')
}

/** For a thread that reads the log. */
const NO_GROUPS: QueueGroups = { lock: refuse, write: refuse, end: refuse, toKeptUntil: refuse }

/** Offers no update and no delete; triggers in the database refuse them as well. */
export const defineAuditTable = (groups = NO_GROUPS) =>
  defineTable({
    reads: (database) => ({
      ...createRowReads(database),
      ...createAuditQueries(database, LOGGED),
      ...createChainReads(database),
      bySubject: createFindRows(database, SUBJECT_INDEX),
      byConsent: createFindRows(database, CONSENT_INDEX),
      ...createCheckpointReads(database),
      packRows: createPackRows(database),
    }),
    writes: (database) => ({
      ...createChainWrites(database),
      ...createMonthTable(database),
      append: database.sync
        ? createSqliteAppend(database, database.sync, groups)
        : createPostgresAppend(database, groups),
      /** Stores the policies that rows refer to; those that exist stay as they are. */
      insertPolicies: (policies: readonly FieldPolicy[]) =>
        database.transaction(async (tx) => {
          const values = policies.map(({ id, fields }) => [id, fields])
          await tx.prepare(INSERT_POLICY).runAll(values)
        }),
      /** And the event that brings it to the endpoints that want it. */
      insertCheckpoint: (checkpoint: Checkpoint) =>
        database.transaction((tx) => insertCheckpoint(tx, checkpoint)),
    }),
  })
export type AuditTable = TableOf<ReturnType<typeof defineAuditTable>>

function createRowReads(database: Reader) {
  const head = database.prepare(
    'SELECT sequence, hash FROM audit WHERE chain = $1 ORDER BY sequence DESC LIMIT 1',
  )
  const find = database.prepare(`SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence = $2`)
  const page = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`,
  )
  // As one text: reading the hashes row by row costs several times as much.
  const hashes = database.prepare(
    `SELECT string_agg(${database.dialect === 'postgres' ? "encode(hash, 'hex')" : 'hex(hash)'}, '' ORDER BY sequence) AS hashes
     FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3`,
  )
  return {
    head: async (chain: string): Promise<Head | undefined> => {
      const row = await head.get(chain)
      return row && { sequence: Number(row.sequence), hash: row.hash as Uint8Array }
    },
    find: async (chain: string, sequence: number) =>
      (await find.get(chain, sequence)) as LoggedRow | undefined,
    /** The next rows of a chain, in order. */
    page: async (chain: string, after: number, most: number) =>
      (await page.all(chain, after, most)) as LoggedRow[],
    hashes: async (chain: string, after: number, upTo: number) =>
      toHashes(Buffer.from(String((await hashes.get(chain, after, upTo))?.hashes ?? ''), 'hex')),
  }
}

function createCheckpointReads(database: Reader) {
  const last = database.prepare('SELECT time, body, signature FROM checkpoints ORDER BY time DESC LIMIT 1')
  const list = database.prepare('SELECT time, body, signature FROM checkpoints ORDER BY time')
  const from = database.prepare(
    'SELECT time, body, signature FROM checkpoints WHERE time >= $1 ORDER BY time LIMIT $2',
  )
  return {
    lastCheckpoint: async () => (await last.get()) as Checkpoint | undefined,
    listCheckpoints: async () => (await list.all()) as Checkpoint[],
    /** The first checkpoints that were made at a time or after it. */
    checkpointsFrom: async (time: string, most: number) => (await from.all(time, most)) as Checkpoint[],
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

/** The rows that name this text, oldest first. With `most`, at least that many of them, if there are. */
type FindRows = (text: string, most?: number) => Promise<LoggedRow[]>

const PAGES_AT_ONCE = 200
/** Few enough not to delay requests: SQLite answers synchronously. */
const SCANNED_AT_ONCE = 1000

const IN_LIST = {
  sqlite: 'SELECT value FROM json_each($2)',
  postgres: 'SELECT value::bigint FROM jsonb_array_elements_text($2::jsonb)',
} as const

/** Rows that are in blocks are found by them; the others, at the end of each chain, are scanned. */
function createFindRows(database: Reader, index: BlockIndex): FindRows {
  const { column } = index
  const chains = database.prepare(toListChains(index))
  const pages = database.prepare(
    `SELECT blocks.first_sequence, entries FROM ${index.blocks} AS blocks
     JOIN ${index.pages} AS pages
       ON pages.chain = blocks.chain AND pages.first_sequence = blocks.first_sequence AND bucket = $4
     WHERE blocks.chain = $1 AND blocks.first_sequence > $2 AND last_sequence <= $3
     ORDER BY blocks.first_sequence LIMIT ${PAGES_AT_ONCE}`,
  )
  const rows = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence IN (${IN_LIST[database.dialect]}) AND ${column} = $3`,
  )
  const scan = database.prepare(
    `SELECT ${LOGGED} FROM audit WHERE chain = $1 AND sequence > $2 AND sequence <= $3 AND ${column} = $4`,
  )

  async function* findInBlocks({ chain, indexed }: IndexedChain, subject: string) {
    const key = index.prefix + subject
    const bucket = toBucket(key)
    for (let after = 0; after < indexed; ) {
      const found = await pages.all(chain, after, indexed, bucket)
      const sequences = found.flatMap(({ first_sequence, entries }) =>
        findInPage(entries as Uint8Array, key, Number(first_sequence)),
      )
      for (let at = 0; at < sequences.length; at += SCANNED_AT_ONCE) {
        const some = sequences.slice(at, at + SCANNED_AT_ONCE)
        yield await rows.all(chain, JSON.stringify(some), subject)
        await nextTurn()
      }
      if (found.length < PAGES_AT_ONCE) return
      after = Number(found.at(-1)?.first_sequence)
      await nextTurn()
    }
  }

  async function* scanTail({ chain, head, indexed }: IndexedChain, subject: string) {
    for (let after = indexed; after < head; after += SCANNED_AT_ONCE) {
      yield await scan.all(chain, after, Math.min(after + SCANNED_AT_ONCE, head), subject)
      await nextTurn()
    }
  }

  return async (text, most = Number.POSITIVE_INFINITY) => {
    const found: LoggedRow[] = []
    for (const chain of (await chains.all()).map(toIndexedChain))
      for (const search of [findInBlocks, scanTail])
        for await (const some of search(chain, text)) {
          found.push(...(some as LoggedRow[]))
          if (found.length >= most) return found.sort(compareTime)
        }
    return found.sort(compareTime)
  }
}
