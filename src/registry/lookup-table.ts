import type { Row } from '../database/database.ts'
import { defineTable, type Reader } from '../database/define-table.ts'
import {
  type AnswerQuestion,
  type Found,
  type LookupTable,
  NO_RECORD,
  type Question,
  type RecordQuestion,
  type RecordRows,
  type SealedRow,
  type StoredAnswer,
} from '../sources/lookup.ts'

const RECORD = 'SELECT key_version, sealed FROM registry WHERE subject = $1'
const ANSWER = `SELECT fingerprint, sealed, lease_until, expires_at FROM idempotency
  WHERE key_id = $1 AND operation = $2 AND name = $3`

export const lookupTable = defineTable({
  reads: (database): LookupTable =>
    database.sync ? createSqliteLookup(database.sync) : createLookupBatches(database),
})

function createSqliteLookup(sync: NonNullable<Reader['sync']>): LookupTable {
  const record = sync.prepare(RECORD)
  const answer = sync.prepare(ANSWER)
  const readRecord = (subject: Uint8Array) => {
    const row = record.get(subject)
    return row && toSealedRow(row.key_version, row.sealed)
  }
  const readAnswer = ({ keyId, operation, name }: AnswerQuestion) => {
    const row = answer.get(keyId, operation, name)
    return row && toStoredAnswer(row, row.sealed)
  }
  // One row is found and one is not, for a known number and for an unknown one alike.
  const findRecord = ({ subject, decoy }: RecordQuestion): RecordRows => {
    const row = readRecord(subject)
    return { subject, row, other: readRecord(row ? Buffer.from(subject).reverse() : decoy) }
  }
  return {
    find: (question) =>
      sync.read(() => ({
        record: question.record ? findRecord(question.record) : NO_RECORD,
        answer: question.answer && readAnswer(question.answer),
      })),
  }
}

const toSealedRow = (version: unknown, sealed: unknown): SealedRow | undefined =>
  sealed === null ? undefined : { keyVersion: Number(version), sealed: sealed as Uint8Array }

const toStoredAnswer = (row: Row, sealed: unknown): StoredAnswer => ({
  fingerprint: row.fingerprint as Uint8Array,
  sealed: sealed as Uint8Array | null,
  leaseUntil: Number(row.lease_until),
  expiresAt: Number(row.expires_at),
})

/** Questions in one statement. */
const MAX_QUESTIONS = 128

type Waiting = {
  readonly question: Question
  readonly resolve: (found: Found) => void
  readonly reject: (error: unknown) => void
}

/**
 * PostgreSQL: questions that arrive together, or while others are being answered, share a statement. There is one at a time: two
 * at once would each hold half as many questions, and cost more than they save in waiting.
 */
function createLookupBatches(database: Reader): LookupTable {
  const lookUp = database.prepare('SELECT * FROM look_up_verifications($1, $2, $3, $4)')
  let queue: Waiting[] = []
  let isBusy = false

  const ask = (questions: readonly Question[]) => {
    const hashes = toHashes(questions)
    if (questions.every(({ answer }) => !answer)) return lookUp.all(hashes, questions.length, null, null)
    const keys = toTexts(questions.map(({ answer }) => answer?.keyId))
    const operations = toTexts(questions.map(({ answer }) => answer?.operation))
    return lookUp.all(hashes, questions.length, keys, operations)
  }
  const answer = async (batch: readonly Waiting[]) => {
    try {
      const rows = await ask(batch.map(({ question }) => question))
      for (const [index, { question, resolve }] of batch.entries())
        resolve(toFound(question, rows[index] as Row))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const work = async () => {
    const batch = queue.slice(0, MAX_QUESTIONS)
    queue = queue.slice(MAX_QUESTIONS)
    await answer(batch)
    isBusy = false
    workLater()
  }
  // Requests that can be read in the same turn of the event loop go together.
  const workLater = () => {
    if (isBusy || queue.length === 0) return
    isBusy = true
    setImmediate(work)
  }
  return {
    find: (question) => {
      const { promise, resolve, reject } = Promise.withResolvers<Found>()
      queue.push({ question, resolve, reject })
      workLater()
      return promise
    },
  }
}

const HASH_BYTES = 32
const PARTS = 4

/** The hashes of each question, one after another: record, its reverse, decoy, Idempotency-Key. See functions/look-up-verifications.sql. */
function toHashes(questions: readonly Question[]): Buffer {
  const bytes = Buffer.alloc(questions.length * PARTS * HASH_BYTES)
  for (const [index, { record, answer }] of questions.entries()) {
    const start = index * PARTS * HASH_BYTES
    if (record) {
      bytes.set(record.subject, start)
      bytes.set(record.subject, start + HASH_BYTES)
      bytes.subarray(start + HASH_BYTES, start + 2 * HASH_BYTES).reverse()
      bytes.set(record.decoy, start + 2 * HASH_BYTES)
    }
    if (answer) bytes.set(answer.name, start + 3 * HASH_BYTES)
  }
  return bytes
}

/** An array as PostgreSQL writes it. These texts are ids and names of operations. */
const toTexts = (values: readonly (string | undefined)[]) =>
  `{${values.map((value) => (value === undefined ? 'NULL' : `"${value}"`)).join(',')}}`

const toFound = ({ record, answer }: Question, row: Row): Found => ({
  record: record
    ? {
        subject: record.subject,
        row: toSealedRow(row.key_version, row.sealed),
        other: toSealedRow(row.other_version, row.other_sealed),
      }
    : NO_RECORD,
  answer: answer && row.fingerprint !== null ? toStoredAnswer(row, row.answer) : undefined,
})
