import type { Value } from '../database/database.ts'
import { type BatchGuess, type CheckBatch, GUESS_LIMITS } from './commit-check.ts'
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

const TYPES = ['bigint', 'bigint', 'bigint', 'bigint', 'bigint', 'checked_guess[]', 'checked_answer[]']

/** Null when all checks passed: see functions/check-verifications.sql. `first` is the number of the first parameter. */
export const toCheckVerifications = (first: number) =>
  `check_verifications(${TYPES.map((type, index) => `$${first + index}::${type}`).join(', ')})`

/** How often other nodes may store a response under one of the same Idempotency-Keys at the very same moment. */
const MAX_RETRIES = 5

/** Another node stored a response meanwhile, and nothing was written. The next attempt sees that response. */
export async function retryIfStored<T>(work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries++)
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== STORED_MEANWHILE || retries === MAX_RETRIES) throw error
    }
}

/** Raised by check_verifications. */
const STORED_MEANWHILE = 'TB409'

export function toCheckValues({ at, since, day, guesses, answers, sealed }: CheckBatch): Value[] {
  const { mostByKey, mostByAll } = GUESS_LIMITS
  return [
    at,
    since,
    day,
    mostByKey,
    mostByAll,
    guesses.length > 0 ? packGuesses(guesses) : null,
    answers.length > 0 ? packAnswers(answers, sealed) : null,
  ]
}

const GUESS_BYTES = 160

function packGuesses(guesses: readonly BatchGuess[]): Buffer {
  const records = createRecords(guesses.length, guesses.length * GUESS_BYTES)
  const before = countBefore(guesses)
  const people = new Set<string>()
  for (const [index, { subject, keyId, isWrong, most }] of guesses.entries())
    addRecord(records, 6, () => {
      addHex(records, subject)
      addText(records, keyId)
      addBool(records, isWrong)
      const { size } = people
      addBigint(records, people.add(toPair(subject, keyId)).size > size ? most : null)
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
