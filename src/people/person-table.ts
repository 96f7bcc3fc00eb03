import type { Database, Row } from '../database/database.ts'

/** What is stored about one person, sealed. Each table knows the number by a keyed hash of its own. */
export type PersonTable = {
  /** When an import last contained the record; noted at most once a day. */
  readonly findRecordTime: (record: Uint8Array) => Promise<number | undefined>
  /** By the subject, and those that name none: see UnnamedAnswer. */
  readonly listKept: (subject: Uint8Array) => Promise<KeptAnswer[]>
  readonly findKept: (
    of: Pick<KeptAnswer, 'lineage' | 'operation' | 'name'>,
  ) => Promise<KeptAnswer | undefined>
  readonly listQueued: (subject: Uint8Array) => Promise<QueuedOfPerson[]>
  readonly listBatchRows: (subject: Uint8Array) => Promise<BatchRowOfPerson[]>
  readonly findReused: (
    reusedResult: Uint8Array,
  ) => Promise<{ readonly sealed: Uint8Array; readonly expiresAt: number } | undefined>
  readonly countFailures: (subject: Uint8Array) => Promise<number>
}

export type KeptAnswer = {
  /** Of the API key. */
  readonly lineage: string
  readonly operation: string
  readonly name: Uint8Array
  readonly sealed: Uint8Array
  readonly expiresAt: number
}

type QueuedOfPerson = {
  readonly reference: string
  readonly keyId: string
  readonly mode: string
  readonly operation: string
  readonly state: string
  readonly batch: string | null
  readonly acceptedAt: number
  readonly expiresAt: number
  readonly question: Uint8Array | null
  readonly answer: Uint8Array | null
}

type BatchRowOfPerson = {
  readonly batch: string
  readonly line: number
  readonly reference: string
  readonly operation: string
  readonly keyId: string
  readonly mode: string
  readonly isWaiting: boolean
  readonly label: Uint8Array | null
}

const KEPT = 'SELECT key_id, operation, name, sealed, expires_at FROM idempotency'
const QUEUED = `SELECT reference, key_id, mode, operation, state, batch, accepted_at, expires_at, question, answer
  FROM queued_verifications WHERE expires_at >= 0 AND subject = $1`

/** By the same indexes as an erasure: see erase-rows.ts, queue-erasure.ts and batch-erasure.ts. */
export function createPersonTable(database: Database): PersonTable {
  const all = (sql: string, ...values: (Uint8Array | string)[]) => database.prepare(sql).all(...values)
  const get = (sql: string, ...values: (Uint8Array | string)[]) => database.prepare(sql).get(...values)
  return {
    findRecordTime: async (record) => {
      const row = await get('SELECT updated_at FROM registry WHERE subject = $1', record)
      return row && Number(row.updated_at)
    },
    listKept: async (subject) =>
      (await all(`${KEPT} WHERE expires_at >= 0 AND subject = $1 AND sealed IS NOT NULL`, subject)).map(
        toKept,
      ),
    findKept: async ({ lineage, operation, name }) => {
      const where = 'key_id = $1 AND operation = $2 AND name = $3 AND sealed IS NOT NULL'
      const row = await get(`${KEPT} WHERE ${where}`, lineage, operation, name)
      return row && toKept(row)
    },
    listQueued: async (subject) => [
      ...(await all(`${QUEUED} AND due_at IS NOT NULL`, subject)).map(toQueued),
      ...(await all(`${QUEUED} AND due_at IS NULL AND answer IS NOT NULL`, subject)).map(toQueued),
    ],
    listBatchRows: async (subject) => (await all(BATCH_ROWS, subject)).map(toBatchRow),
    findReused: async (reusedResult) => {
      const row = await get(
        'SELECT sealed, expires_at FROM reused_results WHERE subject = $1 AND length(sealed) > 0',
        reusedResult,
      )
      return row && { sealed: row.sealed as Uint8Array, expiresAt: Number(row.expires_at) }
    },
    countFailures: async (subject) =>
      Number((await get('SELECT COUNT(*) AS failures FROM attempts WHERE subject = $1', subject))?.failures),
  }
}

const BATCH_ROWS = `SELECT batch, line, reference, batch_rows.operation, key_id, mode, label,
    CASE WHEN question IS NULL THEN 0 ELSE 1 END AS is_waiting
  FROM batch_rows JOIN batches ON batches.id = batch
  WHERE batch IN (SELECT id FROM batches) AND subject = $1 ORDER BY batch, line`

const toKept = (row: Row): KeptAnswer => ({
  lineage: String(row.key_id),
  operation: String(row.operation),
  name: row.name as Uint8Array,
  sealed: row.sealed as Uint8Array,
  expiresAt: Number(row.expires_at),
})

const toQueued = (row: Row): QueuedOfPerson => ({
  reference: String(row.reference),
  keyId: String(row.key_id),
  mode: String(row.mode),
  operation: String(row.operation),
  state: String(row.state),
  batch: row.batch === null ? null : String(row.batch),
  acceptedAt: Number(row.accepted_at),
  expiresAt: Number(row.expires_at),
  question: row.question as Uint8Array | null,
  answer: row.answer as Uint8Array | null,
})

const toBatchRow = (row: Row): BatchRowOfPerson => ({
  batch: String(row.batch),
  line: Number(row.line),
  reference: String(row.reference),
  operation: String(row.operation),
  keyId: String(row.key_id),
  mode: String(row.mode),
  isWaiting: Number(row.is_waiting) === 1,
  label: row.label as Uint8Array | null,
})
