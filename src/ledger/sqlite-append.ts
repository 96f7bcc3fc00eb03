import type { Database, SyncDatabase } from '../database/database.ts'
import { AUDIT_COLUMNS } from './audit-row.ts'
import type { Append, Appended, AuditBatch } from './commit.ts'
import {
  type BatchAnswer,
  type BatchShare,
  type CommitBatch,
  type CommitFacts,
  findRefused,
  type Refused,
} from './commit.ts'
import { type EncodedRows, readRows } from './encoded-rows.ts'
import { type ClaimId, COMPLETE } from './idempotency-table.ts'
import { createKnownPeople } from './known-people.ts'
import type { PaidCall } from './paid-calls.ts'
import { NO_CHANGES, withQueueChanges } from './queue-changes.ts'
import type { QueueGroups } from './queue-rows.ts'
import { ADD_TALLY, toTallyValues } from './tally.ts'

const INSERT = `INSERT INTO audit (${AUDIT_COLUMNS.join(', ')})
  VALUES (${AUDIT_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')})`

export function createSqliteAppend(database: Database, sync: SyncDatabase, groups: QueueGroups): Append {
  const append = createAppendInTx(sync)
  return (batch, queue = NO_CHANGES) =>
    database.transaction((tx) =>
      withQueueChanges(tx, groups, queue, async () => append(batch as AuditBatch<EncodedRows>)),
    )
}

function createAppendInTx(sync: SyncDatabase): (batch: AuditBatch<EncodedRows>) => Appended {
  const assertParts = createSqliteAsserts(sync)
  const writeEnds = createSqliteEnds(sync)
  const insert = sync.prepare(INSERT)
  const addTally = sync.prepare(ADD_TALLY)
  return ({ rows, tallies = [], parts }) => {
    const refused = parts ? assertParts(parts) : []
    if (refused.length > 0) return { refused, late: [] }
    for (const values of readRows(rows)) insert.run(...values)
    for (const tally of tallies) addTally.run(...toTallyValues(tally))
    return { refused: [], late: parts ? writeEnds(parts) : [] }
  }
}

const COUNT_FAILURES = `SELECT COUNT(*) AS by_all, COALESCE(SUM(key_id = $2), 0) AS by_key
  FROM attempts WHERE subject = $1 AND at > $3`
const COUNT_PEOPLE = 'SELECT subjects FROM key_days WHERE key_id = $1 AND day = $2'
const ADD_FAILURE = 'INSERT INTO attempts (subject, key_id, at, id) VALUES ($1, $2, $3, $4)'

/** Asserts what a batch needs and writes what it takes, inside a transaction of SQLite. */
type AssertParts = (batch: CommitBatch) => Refused

function createSqliteAsserts(sync: SyncDatabase): AssertParts {
  const { prepare } = sync
  const knownPeople = createKnownPeople(sync)
  const failures = prepare(COUNT_FAILURES)
  const people = prepare(COUNT_PEOPLE)
  const addFailure = prepare(ADD_FAILURE)
  const answers = createSqliteAnswers(sync)
  const claims = createSqliteClaims(sync)
  const money = createSqliteMoney(sync)

  const findFacts = (batch: CommitBatch): CommitFacts => {
    const { since, day, guesses } = batch
    if (guesses.length > 0) knownPeople.refresh(day)
    const peopleByKey = new Map<string, number>()
    const countPeople = (keyId: string) => {
      const counted = peopleByKey.get(keyId) ?? Number(people.get(keyId, day)?.subjects ?? 0)
      peopleByKey.set(keyId, counted)
      return counted
    }
    return {
      answers: answers.add(batch),
      claims: claims.add(batch),
      payments: batch.payments.map(money.canPay),
      shares: batch.shares.map(money.isLeased),
      guesses: guesses.map(({ subject, keyId }) => {
        const failed = failures.get(fromHex(subject), keyId, since)
        return {
          byAll: Number(failed?.by_all),
          byKey: Number(failed?.by_key),
          isKnown: knownPeople.has(keyId, subject),
          people: countPeople(keyId),
        }
      }),
    }
  }

  const writeGuesses = ({ at, guesses }: CommitBatch, facts: CommitFacts) => {
    const newPeople = new Map<string, Set<string>>()
    for (const [index, { subject, keyId, isWrong, id = null }] of guesses.entries()) {
      if (isWrong) addFailure.run(fromHex(subject), keyId, at, id)
      if (facts.guesses[index]?.isKnown) continue
      const subjects = newPeople.get(keyId) ?? new Set<string>()
      newPeople.set(keyId, subjects.add(subject))
    }
    for (const [keyId, subjects] of newPeople) knownPeople.add(keyId, subjects)
  }

  return (batch) => {
    const facts = findFacts(batch)
    const refused = findRefused(batch, facts)
    if (refused.length > 0) {
      answers.undo()
      claims.undo()
      return refused
    }
    writeGuesses(batch, facts)
    answers.finish()
    money.write(batch)
    return []
  }
}

const fromHex = (hex: string) => Buffer.from(hex, 'hex')

/**
 * The responses of a batch that are stored under Idempotency-Keys, inside a transaction of SQLite. Most keys are new, so a row
 * is added without looking for another one first, and removed again if the batch is refused.
 */
type StoreAnswers = {
  /** Adds what can be added. Returns whether each response can be stored. */
  readonly add: (batch: CommitBatch) => boolean[]
  /** Stores those that take the row of a claim that has ended. */
  readonly finish: () => void
  /** Removes what was added. */
  readonly undo: () => void
}

const ANSWER_COLUMNS = 'key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed'
const ADD_ANSWER = `INSERT INTO idempotency (${ANSWER_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8) ON CONFLICT DO NOTHING`
const REMOVE_ANSWER = 'DELETE FROM idempotency WHERE key_id = $1 AND operation = $2 AND name = $3'
/** A response that has not expired, or a claim that is still running. See idempotency-table.ts. */
const IS_TAKEN = `SELECT 1 FROM idempotency WHERE key_id = $1 AND operation = $2 AND name = $3
  AND NOT (expires_at <= $4 AND (sealed IS NOT NULL OR lease_until <= $4))
  AND (sealed IS NOT NULL OR lease_until > $4 OR fingerprint <> $5)`
/** A claim that was left keeps its paid calls. */
const REPLACE_ANSWER = `UPDATE idempotency SET fingerprint = $4, subject = $5, owner = $6, lease_until = 0, expires_at = $7, sealed = $8
  WHERE key_id = $1 AND operation = $2 AND name = $3`
const HAS_RECORD = 'SELECT 1 FROM registry WHERE subject = $1'

type AnswerValues = readonly [
  ...key: [keyId: string, operation: string, name: Buffer],
  ...rest: [fingerprint: Buffer, subject: Buffer, owner: string, expiresAt: number, sealed: Uint8Array],
]

export function createSqliteAnswers({ prepare }: SyncDatabase): StoreAnswers {
  const add = prepare(ADD_ANSWER)
  const remove = prepare(REMOVE_ANSWER)
  const taken = prepare(IS_TAKEN)
  const replace = prepare(REPLACE_ANSWER)
  const record = prepare(HAS_RECORD)
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
        return canStore(at, answer.record, toAnswerValues(answer, sealed.subarray(end - answer.size, end)))
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

const toAnswerValues = (answer: BatchAnswer, sealed: Uint8Array): AnswerValues => {
  const { keyId, operation, name, fingerprint, subject, owner, expiresAt } = answer
  return [keyId, operation, fromHex(name), fromHex(fingerprint), fromHex(subject), owner, expiresAt, sealed]
}

const ADD_CLAIM = `INSERT INTO idempotency (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, paid_calls)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`

/** First uses of Idempotency-Keys. As with answers, a row is added without looking for another one first. */
function createSqliteClaims({ prepare }: SyncDatabase) {
  const add = prepare(ADD_CLAIM)
  const remove = prepare(REMOVE_ANSWER)
  let added: ClaimId[] = []
  return {
    add: ({ at, claims }: CommitBatch): boolean[] => {
      added = []
      return claims.map((claim) => {
        const { keyId, operation, name, fingerprint, subject, owner, leaseMs, expiresAt, paidCalls } = claim
        const about = [keyId, operation, name, fingerprint, subject, owner] as const
        const isFree = add.run(...about, at + leaseMs, expiresAt, paidCalls) > 0
        if (isFree) added.push(claim)
        return isFree
      })
    },
    undo: (): void => {
      for (const { keyId, operation, name } of added) remove.run(keyId, operation, name)
    },
  }
}

const MINE = 'key_id = $1 AND operation = $2 AND name = $3 AND owner = $4 AND sealed IS NULL'
const CAN_PAY = `SELECT 1 FROM idempotency WHERE ${MINE} AND paid_calls - $6 < $5`
const PAY = `UPDATE idempotency SET paid_calls = paid_calls + 1 - $6, expires_at = MAX(expires_at, $5) WHERE ${MINE}`
const CAN_PAY_QUEUED =
  'SELECT 1 FROM queued_verifications WHERE reference = $1 AND lease = $2 AND due_at IS NOT NULL AND paid_calls - $4 < $3'
const PAY_QUEUED = 'UPDATE queued_verifications SET paid_calls = paid_calls + 1 - $2 WHERE reference = $1'
const SHARE = 'name = $1 AND day = $2 AND node = $3'
const IS_LEASED = `SELECT 1 FROM spend_shares WHERE ${SHARE} AND ($4 <= 0 OR $5 = 0 OR kobo + $4 <= leased_kobo)`
const SPEND = `UPDATE spend_shares SET calls = calls + $4, kobo = kobo + $5 WHERE ${SHARE}`
const SPEND_OF_KEY = `INSERT INTO key_spend_shares (month, key_id, name, node, calls, kobo) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (month, key_id, name, node) DO UPDATE SET calls = calls + excluded.calls, kobo = kobo + excluded.kobo`

/** Paid calls and their price. */
function createSqliteMoney({ prepare }: SyncDatabase) {
  const canPay = prepare(CAN_PAY)
  const pay = prepare(PAY)
  const canPayQueued = prepare(CAN_PAY_QUEUED)
  const payQueued = prepare(PAY_QUEUED)
  const isLeased = prepare(IS_LEASED)
  const spend = prepare(SPEND)
  const spendOfKey = prepare(SPEND_OF_KEY)
  return {
    canPay: ({ payer, most, refunded }: PaidCall): boolean =>
      ('lease' in payer
        ? canPayQueued.get(payer.reference, payer.lease, most, refunded)
        : canPay.get(payer.keyId, payer.operation, payer.name, payer.owner, most, refunded)) !== undefined,
    isLeased: ({ name, day, node, kobo, isCapped }: BatchShare): boolean =>
      isLeased.get(name, day, node, kobo, isCapped ? 1 : 0) !== undefined,
    write: ({ payments, shares, refunds, keyShares }: CommitBatch): void => {
      for (const { payer, expiresAt, refunded } of payments)
        if ('lease' in payer) payQueued.run(payer.reference, refunded)
        else pay.run(payer.keyId, payer.operation, payer.name, payer.owner, expiresAt, refunded)
      for (const { name, day, node, calls, kobo } of [...shares, ...refunds])
        spend.run(name, day, node, calls, kobo)
      for (const { month, keyId, name, node, calls, kobo } of keyShares)
        spendOfKey.run(month, keyId, name, node, calls, kobo)
    },
  }
}

const WITHDRAW = 'DELETE FROM attempts WHERE subject = $1 AND id = $2'
const CONFIRM = 'UPDATE attempts SET id = NULL WHERE subject = $1 AND id = $2'
const REMOVE_UNPAID = `DELETE FROM idempotency WHERE ${MINE} AND paid_calls <= $5`
const RELEASE = `UPDATE idempotency SET lease_until = 0, paid_calls = paid_calls - $5,
  last_failure = COALESCE($6, last_failure) WHERE ${MINE}`
const KEEP = `INSERT INTO reused_results (subject, sealed, expires_at) VALUES ($1, $2, $3)
  ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
  WHERE length(reused_results.sealed) > 0 OR reused_results.expires_at <= $4`

/** What the end of a verification writes. Returns the positions of the responses whose claim was lost. */
function createSqliteEnds({ prepare }: SyncDatabase): (batch: CommitBatch) => number[] {
  const withdraw = prepare(WITHDRAW)
  const confirm = prepare(CONFIRM)
  const removeUnpaid = prepare(REMOVE_UNPAID)
  const release = prepare(RELEASE)
  const complete = prepare(COMPLETE)
  const keep = prepare(KEEP)
  return ({ at, settled, releases, completions, kept }) => {
    for (const { subject, id, isFailed } of settled) (isFailed ? confirm : withdraw).run(fromHex(subject), id)
    for (const { claim, refunded, failure } of releases) {
      const mine = [claim.keyId, claim.operation, claim.name, claim.owner] as const
      if (removeUnpaid.run(...mine, refunded) === 0) release.run(...mine, refunded, failure)
    }
    for (const { subject, sealed, expiresAt } of kept) keep.run(subject, sealed, expiresAt, at)
    return completions.flatMap(({ position, claim, sealed, expiresAt, subject = null }) => {
      const { keyId, operation, name, owner } = claim
      return complete.run(keyId, operation, name, owner, sealed, expiresAt, subject) > 0 ? [] : [position]
    })
  }
}
