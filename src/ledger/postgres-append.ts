import type { Database, Value } from '../database/database.ts'
import { partitionOf } from './audit-months.ts'
import { AUDIT_COLUMNS } from './audit-row.ts'
import {
  type Append,
  type Appended,
  type AuditBatch,
  type BatchGuess,
  type BatchShare,
  type CommitBatch,
  type CommitFacts,
  findRefused,
  type KeptResult,
  type SettledGuess,
} from './commit.ts'
import type { RecordRows } from './encoded-rows.ts'
import type { ClaimId, Completion, NewClaim, Release } from './idempotency-table.ts'
import type { PaidCall } from './paid-calls.ts'
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
  type Records,
  toArrayValue,
} from './postgres-records.ts'
import { NO_CHANGES, withQueueChanges } from './queue-changes.ts'
import type { QueueGroups } from './queue-rows.ts'
import { packTallies, toAddPackedTallies } from './tally.ts'

/** A single statement is its own transaction. Changes of the queue need several. */
export const createPostgresAppend =
  (database: Database, groups: QueueGroups): Append =>
  (given, queue = NO_CHANGES) => {
    const batch = given as AuditBatch<RecordRows>
    return retryIfTaken(() =>
      queue.changes.length === 0
        ? appendRecords(database, batch)
        : database.transaction((tx) => withQueueChanges(tx, groups, queue, () => appendRecords(tx, batch))),
    )
  }

async function appendRecords(
  database: Database,
  { rows, tallies = [], parts }: AuditBatch<RecordRows>,
): Promise<Appended> {
  const { records, chain, previous } = rows
  const partition = partitionOf(chain)
  const values = [records, packTallies(tallies), chain, previous.sequence, previous.hash]
  if (!parts) {
    await database.prepare(toInsert(partition)).run(...values)
    return APPENDED
  }
  const row = await database.prepare(toInsertIfPassed(partition)).get(...values, ...toCommitValues(parts))
  const { refused, late } = (row?.facts ?? {}) as { refused?: CommitFacts; late?: readonly number[] }
  if (refused) return { refused: requireReason(findRefused(parts, refused)), late: [] }
  return late ? { refused: [], late: late.map((index) => parts.completions[index]?.position ?? 0) } : APPENDED
}

const APPENDED: Appended = { refused: [], late: [] }

/** The types of its parameters: see functions/commit-verifications.sql. */
const TYPES = [
  'bigint',
  'bigint',
  'bigint',
  'bigint',
  'bigint',
  'commit_guess[]',
  'checked_answer[]',
  'commit_claim[]',
  'commit_payment[]',
  'jsonb',
  'commit_end[]',
  'commit_release[]',
  'commit_settled[]',
  'commit_kept[]',
]
const COMMITTED = `commit_verifications(${TYPES.map((type, index) => `$${6 + index}::${type}`).join(', ')})`
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

/** The snapshot of the function is its own, taken after its locks. */
const HAVE_PASSED = "(SELECT facts IS NULL OR NOT facts ? 'refused' FROM checked)"

const toInsert = memoize(
  (partition) =>
    `WITH tallied AS (${toAddPackedTallies('$2')}) ${toInsertRecords(toRequirePrevious(partition))}`,
)
const toInsertIfPassed = memoize(
  (partition) => `WITH checked AS MATERIALIZED (SELECT ${COMMITTED} AS facts),
  tallied AS (${toAddPackedTallies(`(CASE WHEN ${HAVE_PASSED} THEN $2::jsonb ELSE '[]'::jsonb END)`)}),
  appended AS (${toInsertRecords(`CASE WHEN ${HAVE_PASSED} THEN ${toRequirePrevious(partition)} ELSE FALSE END`)})
  SELECT facts FROM checked`,
)

/** A process appends to few partitions. */
function memoize(build: (partition: string) => string): (partition: string) => string {
  const built = new Map<string, string>()
  return (partition) => built.get(partition) ?? built.set(partition, build(partition)).get(partition) ?? ''
}

/** How often other nodes may use one of the same Idempotency-Keys at the very same moment. */
const MAX_RETRIES = 5

/** Another node was first, and nothing was written. The next attempt sees what it wrote. */
async function retryIfTaken<T>(work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries++)
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== TAKEN_MEANWHILE || retries === MAX_RETRIES) throw error
    }
}

/** Raised by commit_verifications. */
const TAKEN_MEANWHILE = 'TB409'

/**
 * The facts are read after the refusal, and another node may have ended its cause, such as a guess that it withdrew. Nothing is
 * written then: without a reason it must not pass for a commit.
 */
function requireReason(refused: Appended['refused']): Appended['refused'] {
  if (refused.length > 0) return refused
  throw Object.assign(new Error('the reason of a refusal has ended'), { code: TAKEN_MEANWHILE })
}

export function toCommitValues(batch: CommitBatch): Value[] {
  const { at, since, day, maxByKey, maxByAll, guesses, answers, sealed } = batch
  const { claims, payments, completions, releases, settled, kept } = batch
  return [
    at,
    since,
    day,
    maxByKey,
    maxByAll,
    guesses.length > 0 ? packGuesses(guesses) : null,
    answers.length > 0 ? packAnswers(answers, sealed) : null,
    pack(claims, 9, 320, addClaim),
    pack(payments, 7, 200, addPayment),
    packMoney(batch),
    pack(completions, 7, 2000, addCompletion),
    pack(releases, 6, 200, addRelease),
    pack(settled, 3, 120, addSettled),
    pack(kept, 3, 2000, addKept),
  ]
}

/** `size` is an estimate of the bytes of one. */
function pack<T>(
  list: readonly T[],
  fields: number,
  size: number,
  add: (records: Records, each: T) => void,
): Buffer | null {
  if (list.length === 0) return null
  const records = createRecords(list.length, list.length * size)
  for (const each of list) addRecord(records, fields, () => add(records, each))
  return toArrayValue(records)
}

function addClaim(records: Records, claim: NewClaim): void {
  addText(records, claim.keyId)
  addText(records, claim.operation)
  addBytes(records, OID.bytea, claim.name)
  addBytes(records, OID.bytea, claim.fingerprint)
  addBytes(records, OID.bytea, claim.subject)
  addText(records, claim.owner)
  addBigint(records, claim.leaseMs)
  addBigint(records, claim.expiresAt)
  addBigint(records, claim.paidCalls)
}

/** Of a verification in the queue: its reference and its lease, without a key. */
function addPayment(records: Records, { payer, most, expiresAt, refunded }: PaidCall): void {
  const isQueued = 'lease' in payer
  addText(records, isQueued ? null : payer.keyId)
  addText(records, isQueued ? payer.reference : payer.operation)
  addBytes(records, OID.bytea, isQueued ? null : payer.name)
  addText(records, isQueued ? payer.lease : payer.owner)
  addBigint(records, most)
  addBigint(records, expiresAt)
  addBigint(records, refunded)
}

function addClaimId(records: Records, { keyId, operation, name, owner }: ClaimId): void {
  addText(records, keyId)
  addText(records, operation)
  addBytes(records, OID.bytea, name)
  addText(records, owner)
}

function addCompletion(records: Records, { claim, sealed, expiresAt, subject }: Completion): void {
  addClaimId(records, claim)
  addBytes(records, OID.bytea, sealed)
  addBigint(records, expiresAt)
  addBytes(records, OID.bytea, subject ?? null)
}

function addRelease(records: Records, { claim, refunded, failure }: Release): void {
  addClaimId(records, claim)
  addBigint(records, refunded)
  addText(records, failure)
}

function addSettled(records: Records, { subject, id, isFailed }: SettledGuess): void {
  addHex(records, subject)
  addText(records, id)
  addBool(records, isFailed)
}

function addKept(records: Records, { subject, sealed, expiresAt }: KeptResult): void {
  addBytes(records, OID.bytea, subject)
  addBytes(records, OID.bytea, sealed)
  addBigint(records, expiresAt)
}

/** A commit has few of them: as JSON, which PostgreSQL reads itself. */
function packMoney({ shares, refunds, keyShares }: CommitBatch): string | null {
  if (shares.length + refunds.length === 0) return null
  const toList = ({ name, day, calls, kobo, isCapped, node }: BatchShare) => [
    name,
    day,
    calls,
    kobo,
    isCapped,
    node,
  ]
  return JSON.stringify({
    shares: shares.map(toList),
    refunds: refunds.map(toList),
    keys: keyShares.map(({ month, keyId, name, calls, kobo, node }) => [
      month,
      keyId,
      name,
      calls,
      kobo,
      node,
    ]),
  })
}

const GUESS_BYTES = 160

function packGuesses(guesses: readonly BatchGuess[]): Buffer {
  const records = createRecords(guesses.length, guesses.length * GUESS_BYTES)
  const before = countBefore(guesses)
  const people = new Set<string>()
  for (const [index, { subject, keyId, isWrong, maxPeople, id }] of guesses.entries())
    addRecord(records, 7, () => {
      addHex(records, subject)
      addText(records, keyId)
      addBool(records, isWrong)
      const { size } = people
      addBigint(records, people.add(toPair(subject, keyId)).size > size ? maxPeople : null)
      addInt(records, before[index]?.byAll ?? 0)
      addInt(records, before[index]?.byKey ?? 0)
      addText(records, id ?? null)
    })
  return toArrayValue(records)
}

/** Without the sealed response. */
const ANSWER_BYTES = 320

function packAnswers(answers: CommitBatch['answers'], sealed: Uint8Array): Buffer {
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
