import {
  type BatchAnswer,
  type CheckBatch,
  type CheckFacts,
  findRefused,
  type Refused,
} from './commit-check.ts'
import type { SyncDatabase } from './database.ts'
import { createKnownPeople } from './known-people.ts'

const FAILURES = `SELECT COUNT(*) AS by_all, COALESCE(SUM(key_id = $2), 0) AS by_key
  FROM attempts WHERE subject = $1 AND at > $3`
const PEOPLE = 'SELECT subjects FROM key_days WHERE key_id = $1 AND day = $2'
/** A response that has not expired, or a claim that is still running. See idempotency-table.ts. */
const TAKEN = `SELECT 1 FROM idempotency WHERE key_id = $1 AND operation = $2 AND name = $3
  AND NOT (expires_at <= $4 AND (sealed IS NOT NULL OR lease_until <= $4))
  AND (sealed IS NOT NULL OR lease_until > $4 OR fingerprint <> $5)`
const RECORD = 'SELECT 1 FROM registry WHERE subject = $1'
const ADD_FAILURE = 'INSERT INTO attempts (subject, key_id, at) VALUES ($1, $2, $3)'
/** A claim that was left keeps its paid calls. */
const ADD_ANSWER = `INSERT INTO idempotency (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
  VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)
  ON CONFLICT (key_id, operation, name) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
    owner = excluded.owner, lease_until = 0, expires_at = excluded.expires_at, sealed = excluded.sealed`

/** Asserts the checks of a batch and writes what they count, inside a transaction of SQLite. */
type ApplyChecks = (batch: CheckBatch) => Refused

export function createSqliteChecks(sync: SyncDatabase): ApplyChecks {
  const { prepare } = sync
  const knownPeople = createKnownPeople(sync)
  const failures = prepare(FAILURES)
  const people = prepare(PEOPLE)
  const taken = prepare(TAKEN)
  const record = prepare(RECORD)
  const addFailure = prepare(ADD_FAILURE)
  const addAnswer = prepare(ADD_ANSWER)

  const canStore = (at: number, { keyId, operation, name, fingerprint, record: held }: BatchAnswer) =>
    taken.get(keyId, operation, fromHex(name), at, fromHex(fingerprint)) === undefined &&
    (held === undefined || record.get(fromHex(held)) !== undefined)

  const findFacts = ({ at, since, day, guesses, answers }: CheckBatch): CheckFacts => {
    if (guesses.length > 0) knownPeople.refresh(day)
    const peopleByKey = new Map<string, number>()
    const countPeople = (keyId: string) => {
      const counted = peopleByKey.get(keyId) ?? Number(people.get(keyId, day)?.subjects ?? 0)
      peopleByKey.set(keyId, counted)
      return counted
    }
    return {
      answers: answers.map((answer) => canStore(at, answer)),
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

  const writeAnswers = ({ answers, sealed }: CheckBatch) => {
    let end = 0
    for (const { keyId, operation, name, fingerprint, subject, owner, expiresAt, size } of answers) {
      const bytes = sealed.subarray(end, end + size)
      end += size
      const hashes = [fromHex(name), fromHex(fingerprint), fromHex(subject)] as const
      addAnswer.run(keyId, operation, ...hashes, owner, expiresAt, bytes)
    }
  }

  return (batch) => {
    const facts = findFacts(batch)
    const refused = findRefused(batch, facts)
    if (refused.length > 0) return refused
    writeGuesses(batch, facts)
    writeAnswers(batch)
    return []
  }
}

const fromHex = (hex: string) => Buffer.from(hex, 'hex')
