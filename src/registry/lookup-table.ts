import type { Database, Row } from '../database/database.ts'
import {
  type LookupTable,
  NO_RECORD,
  type RecordQuestion,
  type RecordRows,
  type SealedRow,
  type StoredAnswer,
} from '../sources/lookup.ts'
import { createLookupBatches } from './lookup-batches.ts'

const RECORD = 'SELECT key_version, sealed FROM registry WHERE subject = $1'
const ANSWER = `SELECT fingerprint, sealed, lease_until, expires_at FROM idempotency
  WHERE key_id = $1 AND operation = $2 AND name = $3`

export function createLookupTable(database: Database): LookupTable {
  const { sync } = database
  if (!sync) return createLookupBatches(database)
  const record = sync.prepare(RECORD)
  const answer = sync.prepare(ANSWER)
  // One row is found and one is not, for a known number and for an unknown one alike.
  const findRecord = ({ subject, decoy }: RecordQuestion): RecordRows => {
    const row = toSealedRow(record.get(subject))
    return { subject, row, other: toSealedRow(record.get(row ? Buffer.from(subject).reverse() : decoy)) }
  }
  return {
    find: (question) =>
      sync.read(() => ({
        record: question.record ? findRecord(question.record) : NO_RECORD,
        answer:
          question.answer &&
          toStoredAnswer(answer.get(question.answer.keyId, question.answer.operation, question.answer.name)),
      })),
  }
}

const toSealedRow = (row: Row | undefined): SealedRow | undefined =>
  row && { keyVersion: Number(row.key_version), sealed: row.sealed as Uint8Array }

const toStoredAnswer = (row: Row | undefined): StoredAnswer | undefined =>
  row && {
    fingerprint: row.fingerprint as Uint8Array,
    sealed: row.sealed as Uint8Array | null,
    leaseUntil: Number(row.lease_until),
    expiresAt: Number(row.expires_at),
  }
