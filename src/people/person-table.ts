import type { Row } from '../database/database.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  flag,
  named,
  number,
  optional,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { readKeptPart } from './kept-answers.ts'

const KEPT_ANSWER = defineColumns({
  /** Of the API key. */
  lineage: named('key_id', text()),
  operation: text(),
  name: bytes(),
  sealed: bytes(),
  expiresAt: number(),
})
export type KeptAnswer = RowOf<typeof KEPT_ANSWER>

const QUEUED_OF_PERSON = defineColumns({
  reference: text(),
  keyId: text(),
  mode: text(),
  operation: text(),
  state: text(),
  batch: optional(text()),
  acceptedAt: number(),
  expiresAt: number(),
  question: optional(bytes()),
  answer: optional(bytes()),
})

const BATCH_ROW = defineColumns({
  batch: text(),
  line: number(),
  reference: text(),
  operation: text(),
  keyId: text(),
  mode: text(),
  isWaiting: flag(),
  label: optional(bytes()),
})

const REUSED = defineColumns({ sealed: bytes(), expiresAt: number() })

const KEPT = `SELECT ${KEPT_ANSWER.names} FROM idempotency`
const QUEUED = `SELECT ${QUEUED_OF_PERSON.names} FROM queued_verifications WHERE expires_at >= 0 AND subject = $1`
const BATCH_ROWS = `SELECT batch, line, reference, batch_rows.operation, key_id, mode, label,
    CASE WHEN question IS NULL THEN 0 ELSE 1 END AS is_waiting
  FROM batch_rows JOIN batches ON batches.id = batch
  WHERE batch IN (SELECT id FROM batches) AND subject = $1 ORDER BY batch, line`

/**
 * What is stored about one person, sealed. Each table knows the number by a keyed hash of its own. By the same indexes as an
 * erasure: see erase-rows.ts and queue-counts.ts.
 */
export const personTable = defineTable({
  reads: (database) => {
    const all = (sql: string, ...values: (Uint8Array | string)[]) => database.prepare(sql).all(...values)
    const get = (sql: string, ...values: (Uint8Array | string)[]) => database.prepare(sql).get(...values)
    return {
      /** When an import last contained the record; noted at most once a day. */
      findRecordTime: async (record: Uint8Array) => {
        const row = await get('SELECT updated_at FROM registry WHERE subject = $1', record)
        return row && Number(row.updated_at)
      },
      /** A part of those that name the subject: see readKeptPart. The others are found as UnnamedAnswer. */
      listKept: (subject: Uint8Array, from: number) => {
        const where = 'subject = $3 AND sealed IS NOT NULL'
        const toAnswer = (row: Row) => KEPT_ANSWER.decode(row)
        return readKeptPart(database, { columns: KEPT_ANSWER.names, where, toAnswer }, from, subject)
      },
      findKept: async ({ lineage, operation, name }: Pick<KeptAnswer, 'lineage' | 'operation' | 'name'>) => {
        const where = 'key_id = $1 AND operation = $2 AND name = $3 AND sealed IS NOT NULL'
        return KEPT_ANSWER.decode(await get(`${KEPT} WHERE ${where}`, lineage, operation, name))
      },
      listQueued: async (subject: Uint8Array) =>
        [
          ...(await all(`${QUEUED} AND due_at IS NOT NULL`, subject)),
          ...(await all(`${QUEUED} AND due_at IS NULL AND answer IS NOT NULL`, subject)),
        ].map(QUEUED_OF_PERSON.decode),
      listBatchRows: async (subject: Uint8Array) => (await all(BATCH_ROWS, subject)).map(BATCH_ROW.decode),
      findReused: async (reusedResult: Uint8Array) => {
        const where = 'subject = $1 AND length(sealed) > 0'
        return REUSED.decode(
          await get(`SELECT ${REUSED.names} FROM reused_results WHERE ${where}`, reusedResult),
        )
      },
      countFailures: async (subject: Uint8Array) =>
        Number(
          (await get('SELECT COUNT(*) AS failures FROM attempts WHERE subject = $1', subject))?.failures,
        ),
    }
  },
})
export type PersonTable = TableOf<typeof personTable>
