import type { Database, Value } from '../database/database.ts'
import { partitionOf } from './audit-months.ts'
import { AUDIT_COLUMNS } from './audit-row.ts'
import type { Append, Appended, AuditBatch } from './commit.ts'
import { type BatchGuess, type CheckBatch, type CheckFacts, findRefused } from './commit.ts'
import type { RecordRows } from './encoded-rows.ts'
import { complete } from './idempotency-table.ts'
import {
  addBigint,
  addBool,
  addBytes,
  addHex,
  addInt,
  addRecord,
  addText,
  createRecords,
  OID,
  toArrayValue,
} from './postgres-records.ts'
import { NO_CHANGES, withQueueChanges } from './queue-changes.ts'
import type { QueueGroups } from './queue-rows.ts'
import { packTallies, toAddPackedTallies } from './tally.ts'

/** Appends in a single statement where that is enough. */
export const createPostgresAppend =
  (database: Database, groups: QueueGroups): Append =>
  async (rows, completions, tallies = [], checks = undefined, queue = NO_CHANGES) => {
    const batch = { rows: rows as RecordRows, completions, tallies, checks }
    // A single statement is its own transaction.
    return retryIfStored(() =>
      completions.length === 0 && queue.changes.length === 0
        ? appendRecords(database, batch)
        : database.transaction((tx) => withQueueChanges(tx, groups, queue, () => appendInTx(tx, batch))),
    )
  }

async function appendInTx(tx: Database, batch: AuditBatch<RecordRows>): Promise<Appended> {
  const appended = await appendRecords(tx, batch)
  if (appended.refused.length > 0) return appended
  return { refused: [], late: await complete(tx, batch.completions) }
}

/** Appends in a single statement, which is its own transaction or a part of one. */
async function appendRecords(
  database: Database,
  { rows, tallies, checks }: AuditBatch<RecordRows>,
): Promise<Appended> {
  const { records, chain, previous } = rows
  const partition = partitionOf(chain)
  const values = [records, packTallies(tallies), chain, previous.sequence, previous.hash]
  if (!checks) {
    await database.prepare(toInsert(partition)).run(...values)
    return APPENDED
  }
  const row = await database.prepare(toInsertIfPassed(partition)).get(...values, ...toCheckValues(checks))
  return row?.facts ? { refused: findRefused(checks, row.facts as CheckFacts), late: [] } : APPENDED
}

const APPENDED: Appended = { refused: [], late: [] }

/** Null when all checks passed: see functions/check-verifications.sql. */
const CHECKED =
  'check_verifications($6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bigint, $11::checked_guess[], $12::checked_answer[])'
const PREVIOUS = '$3::text, $4::bigint, $5::bytea'

/**
 * After a failover the database may lack the row before: the statement fails, and nothing is written. The row is looked for in
 * the partition of its chain, because PostgreSQL locks all partitions for a query of the whole table. A query with EXISTS
 * could be planned as a scan of the whole partition.
 */
const toRequirePrevious = (partition: string) =>
  `CASE WHEN (SELECT TRUE FROM ${partition} WHERE (chain, sequence, hash) = (${PREVIOUS})) THEN TRUE
    ELSE require_audit_row(${PREVIOUS}) END`

const LIST = AUDIT_COLUMNS.join(', ')
const SELECTED = AUDIT_COLUMNS.map((column) => (column === 'sequence' ? 'sequence::bigint' : column)).join(
  ', ',
)

/** PostgreSQL unpacks the batch itself: one round trip instead of one for each row. The condition is evaluated once. */
const toInsertRecords = (condition: string) =>
  `INSERT INTO audit (${LIST}) SELECT ${SELECTED} FROM unnest($1::audit_entry[]) WHERE (SELECT ${condition})`

/** The snapshot of the checks is their own, taken after their locks. */
const HAVE_PASSED = '(SELECT facts IS NULL FROM checked)'

const toInsert = memoize(
  (partition) =>
    `WITH tallied AS (${toAddPackedTallies('$2')}) ${toInsertRecords(toRequirePrevious(partition))}`,
)
const toInsertIfPassed = memoize(
  (partition) => `WITH checked AS MATERIALIZED (SELECT ${CHECKED} AS facts),
  tallied AS (${toAddPackedTallies(`(CASE WHEN ${HAVE_PASSED} THEN $2::jsonb ELSE '[]'::jsonb END)`)}),
  appended AS (${toInsertRecords(`CASE WHEN ${HAVE_PASSED} THEN ${toRequirePrevious(partition)} ELSE FALSE END`)})
  SELECT facts FROM checked`,
)

/** A process appends to few partitions. */
function memoize(build: (partition: string) => string): (partition: string) => string {
  const built = new Map<string, string>()
  return (partition) => built.get(partition) ?? built.set(partition, build(partition)).get(partition) ?? ''
}

/** How often other nodes may store a response under one of the same Idempotency-Keys at the very same moment. */
const MAX_RETRIES = 5

/** Another node stored a response meanwhile, and nothing was written. The next attempt sees that response. */
async function retryIfStored<T>(work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries++)
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== STORED_MEANWHILE || retries === MAX_RETRIES) throw error
    }
}

/** Raised by check_verifications. */
const STORED_MEANWHILE = 'TB409'

export function toCheckValues(batch: CheckBatch): Value[] {
  const { at, since, day, maxByKey, maxByAll, guesses, answers, sealed } = batch
  return [
    at,
    since,
    day,
    maxByKey,
    maxByAll,
    guesses.length > 0 ? packGuesses(guesses) : null,
    answers.length > 0 ? packAnswers(answers, sealed) : null,
  ]
}

const GUESS_BYTES = 160

function packGuesses(guesses: readonly BatchGuess[]): Buffer {
  const records = createRecords(guesses.length, guesses.length * GUESS_BYTES)
  const before = countBefore(guesses)
  const people = new Set<string>()
  for (const [index, { subject, keyId, isWrong, maxPeople }] of guesses.entries())
    addRecord(records, 6, () => {
      addHex(records, subject)
      addText(records, keyId)
      addBool(records, isWrong)
      const { size } = people
      addBigint(records, people.add(toPair(subject, keyId)).size > size ? maxPeople : null)
      addInt(records, before[index]?.byAll ?? 0)
      addInt(records, before[index]?.byKey ?? 0)
    })
  return toArrayValue(records)
}

/** Without the sealed response. */
const ANSWER_BYTES = 320

function packAnswers(answers: CheckBatch['answers'], sealed: Uint8Array): Buffer {
  const records = createRecords(answers.length, sealed.length + answers.length * ANSWER_BYTES)
  let end = 0
  for (const answer of answers)
    addRecord(records, 9, () => {
      const start = end
      end += answer.size
      addText(records, answer.keyId)
      addText(records, answer.operation)
      addHex(records, answer.name)
      addHex(records, answer.fingerprint)
      addHex(records, answer.subject)
      addText(records, answer.owner)
      addBigint(records, answer.expiresAt)
      addBytes(records, OID.bytea, sealed.subarray(start, end))
      addHex(records, answer.record ?? null)
    })
  return toArrayValue(records)
}

const toPair = (subject: string, keyId: string) => `${subject} ${keyId}`

/** For each guess, the wrong ones that precede it in the batch, by all keys and by its own. */
function countBefore(guesses: readonly BatchGuess[]) {
  const counts = new Map<string, number>()
  return guesses.map(({ subject, keyId, isWrong }) => {
    const pair = toPair(subject, keyId)
    const before = { byAll: counts.get(subject) ?? 0, byKey: counts.get(pair) ?? 0 }
    if (isWrong) {
      counts.set(subject, before.byAll + 1)
      counts.set(pair, before.byKey + 1)
    }
    return before
  })
}
