import type { Database, SyncDatabase } from '../database/database.ts'
import { AUDIT_COLUMNS } from './audit-row.ts'
import type { Append, Appended, AuditBatch } from './commit.ts'
import { type BatchAnswer, type CheckBatch, type CheckFacts, findRefused, type Refused } from './commit.ts'
import { type EncodedRows, readRows } from './encoded-rows.ts'
import { COMPLETE, type Completion } from './idempotency-table.ts'
import { createKnownPeople } from './known-people.ts'
import { NO_CHANGES, withQueueChanges } from './queue-changes.ts'
import type { QueueGroups } from './queue-rows.ts'
import { ADD_TALLY, toTallyValues } from './tally.ts'

const INSERT = `INSERT INTO audit (${AUDIT_COLUMNS.join(', ')})
  VALUES (${AUDIT_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')})`

export function createSqliteAppend(database: Database, sync: SyncDatabase, groups: QueueGroups): Append {
  const append = createAppendInTx(sync)
  return (rows, completions, tallies = [], checks = undefined, queue = NO_CHANGES) =>
    database.transaction((tx) =>
      withQueueChanges(tx, groups, queue, async () =>
        append({ rows: rows as EncodedRows, completions, tallies, checks }),
      ),
    )
}

function createAppendInTx(sync: SyncDatabase): (batch: AuditBatch<EncodedRows>) => Appended {
  const applyChecks = createSqliteChecks(sync)
  const insert = sync.prepare(INSERT)
  const addTally = sync.prepare(ADD_TALLY)
  const store = sync.prepare(COMPLETE)
  const complete = ({ claim, sealed, expiresAt, subject }: Completion) =>
    store.run(claim.keyId, claim.operation, claim.name, claim.owner, sealed, expiresAt, subject ?? null) > 0
  return ({ rows, completions, tallies, checks }) => {
    const refused = checks ? applyChecks(checks) : []
    if (refused.length > 0) return { refused, late: [] }
    for (const values of readRows(rows)) insert.run(...values)
    for (const tally of tallies) addTally.run(...toTallyValues(tally))
    const late = completions.flatMap((completion, index) => (complete(completion) ? [] : [index]))
    return { refused: [], late }
  }
}

const COUNT_FAILURES = `SELECT COUNT(*) AS by_all, COALESCE(SUM(key_id = $2), 0) AS by_key
  FROM attempts WHERE subject = $1 AND at > $3`
const COUNT_PEOPLE = 'SELECT subjects FROM key_days WHERE key_id = $1 AND day = $2'
const ADD_FAILURE = 'INSERT INTO attempts (subject, key_id, at) VALUES ($1, $2, $3)'

/** Asserts the checks of a batch and writes what they count, inside a transaction of SQLite. */
type ApplyChecks = (batch: CheckBatch) => Refused

function createSqliteChecks(sync: SyncDatabase): ApplyChecks {
  const { prepare } = sync
  const knownPeople = createKnownPeople(sync)
  const failures = prepare(COUNT_FAILURES)
  const people = prepare(COUNT_PEOPLE)
  const addFailure = prepare(ADD_FAILURE)
  const answers = createSqliteAnswers(sync)

  const findFacts = (batch: CheckBatch): CheckFacts => {
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

  const writeGuesses = ({ at, guesses }: CheckBatch, facts: CheckFacts) => {
    const newPeople = new Map<string, Set<string>>()
    for (const [index, { subject, keyId, isWrong }] of guesses.entries()) {
      if (isWrong) addFailure.run(fromHex(subject), keyId, at)
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
      return refused
    }
    writeGuesses(batch, facts)
    answers.finish()
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
  readonly add: (batch: CheckBatch) => boolean[]
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
