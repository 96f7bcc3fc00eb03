import { type BatchGuess, type CheckBatch, GUESS_LIMITS } from './commit-check.ts'
import type { Value } from './database.ts'

/** Parameters that precede those of the checks in the statement. */
const FIRST = 3

const TYPES = [
  ...['bigint', 'bigint', 'bigint', 'bigint', 'bigint'],
  ...['bytea', 'text[]', 'bool[]', 'bigint[]', 'int[]', 'int[]'],
  ...['bytea', 'text[]', 'text[]', 'text[]', 'int[]', 'int[]', 'bigint[]', 'bool[]', 'bytea'],
]

/** Null when all checks passed: see migration 21. */
export const CHECK_VERIFICATIONS = `check_verifications(${TYPES.map((type, index) => `$${FIRST + index}::${type}`).join(', ')})`

/** How often other nodes may store a response under one of the same Idempotency-Keys at the very same moment. */
const MOST_RETRIES = 5

/** Another node stored a response meanwhile, and nothing was written. The next attempt sees that response. */
export async function retryIfStored<T>(work: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries++)
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== STORED_MEANWHILE || retries === MOST_RETRIES) throw error
    }
}

/** Raised by check_verifications. */
const STORED_MEANWHILE = 'TB409'

export function toCheckValues({ at, since, day, guesses, answers, sealed }: CheckBatch): Value[] {
  const before = countBefore(guesses)
  const { mostByKey, mostByAll } = GUESS_LIMITS
  let end = 1
  const starts = answers.map(({ size }) => {
    end += size
    return end - size
  })
  return [
    ...[at, since, day, mostByKey, mostByAll],
    Buffer.from(guesses.map(({ subject }) => subject).join(''), 'hex'),
    toTexts(guesses.map(({ keyId }) => keyId)),
    toList(guesses.map(({ isWrong }) => isWrong)),
    toList(guesses.map(({ most }) => most)),
    toList(before.map(({ byAll }) => byAll)),
    toList(before.map(({ byKey }) => byKey)),
    Buffer.from(answers.map(toHashes).join(''), 'hex'),
    toTexts(answers.map(({ keyId }) => keyId)),
    toTexts(answers.map(({ operation }) => operation)),
    toTexts(answers.map(({ owner }) => owner)),
    toList(starts),
    toList(answers.map(({ size }) => size)),
    toList(answers.map(({ expiresAt }) => expiresAt)),
    toList(answers.map(({ record }) => record !== undefined)),
    sealed,
  ]
}

const NO_HASH = '0'.repeat(64)

const toHashes = ({ name, fingerprint, subject, record = NO_HASH }: CheckBatch['answers'][number]) =>
  name + fingerprint + subject + record

/** For each guess, the wrong ones that precede it in the batch, by all keys and by its own. */
function countBefore(guesses: readonly BatchGuess[]) {
  const counts = new Map<string, number>()
  return guesses.map(({ subject, keyId, isWrong }) => {
    const pair = `${subject} ${keyId}`
    const before = { byAll: counts.get(subject) ?? 0, byKey: counts.get(pair) ?? 0 }
    if (isWrong) {
      counts.set(subject, before.byAll + 1)
      counts.set(pair, before.byKey + 1)
    }
    return before
  })
}

/** Arrays as PostgreSQL writes them. */
const toList = (values: readonly (number | boolean)[]) => `{${values.join(',')}}`
const toTexts = (values: readonly string[]) =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
