import type { SyncDatabase } from '../database/database.ts'
import type { BatchAnswer, CheckBatch } from './commit-check.ts'

/**
 * The responses of a batch that are stored under Idempotency-Keys, inside a transaction of SQLite. Most keys are new, so a row
 * is added without looking for another one first, and removed again if the batch is refused.
 */
type StoreAnswers = {
  /** Adds what can be added. Returns whether each response can be stored. */
  readonly add: (batch: CheckBatch) => boolean[]
  /** Stores those that take the row of a claim that has ended. */
  readonly finish: () => void
  /** Removes what was added. */
  readonly undo: () => void
}

const COLUMNS = 'key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed'
const ADD = `INSERT INTO idempotency (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8) ON CONFLICT DO NOTHING`
const REMOVE = 'DELETE FROM idempotency WHERE key_id = $1 AND operation = $2 AND name = $3'
/** A response that has not expired, or a claim that is still running. See idempotency-table.ts. */
const TAKEN = `SELECT 1 FROM idempotency WHERE key_id = $1 AND operation = $2 AND name = $3
  AND NOT (expires_at <= $4 AND (sealed IS NOT NULL OR lease_until <= $4))
  AND (sealed IS NOT NULL OR lease_until > $4 OR fingerprint <> $5)`
/** A claim that was left keeps its paid calls. */
const REPLACE = `UPDATE idempotency SET fingerprint = $4, subject = $5, owner = $6, lease_until = 0, expires_at = $7, sealed = $8
  WHERE key_id = $1 AND operation = $2 AND name = $3`
const RECORD = 'SELECT 1 FROM registry WHERE subject = $1'

type AnswerValues = readonly [
  ...key: [keyId: string, operation: string, name: Buffer],
  ...rest: [fingerprint: Buffer, subject: Buffer, owner: string, expiresAt: number, sealed: Uint8Array],
]

export function createSqliteAnswers({ prepare }: SyncDatabase): StoreAnswers {
  const add = prepare(ADD)
  const remove = prepare(REMOVE)
  const taken = prepare(TAKEN)
  const replace = prepare(REPLACE)
  const record = prepare(RECORD)
  let added: AnswerValues[] = []
  let replacing: AnswerValues[] = []

  const canStore = (at: number, held: string | undefined, values: AnswerValues): boolean => {
    if (held !== undefined && record.get(fromHex(held)) === undefined) return false
    if (add.run(...values) > 0) {
      added.push(values)
      return true
    }
    const [keyId, operation, name, fingerprint] = values
    if (taken.get(keyId, operation, name, at, fingerprint) !== undefined) return false
    replacing.push(values)
    return true
  }
  return {
    add: ({ at, answers, sealed }) => {
      added = []
      replacing = []
      let end = 0
      return answers.map((answer) => {
        end += answer.size
        return canStore(at, answer.record, toValues(answer, sealed.subarray(end - answer.size, end)))
      })
    },
    finish: () => {
      for (const values of replacing) replace.run(...values)
    },
    undo: () => {
      for (const [keyId, operation, name] of added) remove.run(keyId, operation, name)
    },
  }
}

const toValues = (answer: BatchAnswer, sealed: Uint8Array): AnswerValues => {
  const { keyId, operation, name, fingerprint, subject, owner, expiresAt } = answer
  return [keyId, operation, fromHex(name), fromHex(fingerprint), fromHex(subject), owner, expiresAt, sealed]
}

const fromHex = (hex: string) => Buffer.from(hex, 'hex')
