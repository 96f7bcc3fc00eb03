import type { SyncDatabase } from '../database/database.ts'
import { type CheckBatch, type CheckFacts, findRefused, type Refused } from './commit-check.ts'
import { createKnownPeople } from './known-people.ts'
import { createSqliteAnswers } from './sqlite-answers.ts'

const FAILURES = `SELECT COUNT(*) AS by_all, COALESCE(SUM(key_id = $2), 0) AS by_key
  FROM attempts WHERE subject = $1 AND at > $3`
const PEOPLE = 'SELECT subjects FROM key_days WHERE key_id = $1 AND day = $2'
const ADD_FAILURE = 'INSERT INTO attempts (subject, key_id, at) VALUES ($1, $2, $3)'

/** Asserts the checks of a batch and writes what they count, inside a transaction of SQLite. */
type ApplyChecks = (batch: CheckBatch) => Refused

export function createSqliteChecks(sync: SyncDatabase): ApplyChecks {
  const { prepare } = sync
  const knownPeople = createKnownPeople(sync)
  const failures = prepare(FAILURES)
  const people = prepare(PEOPLE)
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
