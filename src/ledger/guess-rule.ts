import { DAY_MS, toLagosDay } from '../contract/time.ts'

/**
 * The limits on guessing, for both databases: how many failed matches of one number count within the window, by one key and by all
 * keys. Enough for typing errors, too few for guessing.
 */
const POLICY = { maxByKey: 5, maxByAll: 20, windowMs: DAY_MS } as const

/** The limits as they are at one time. Statements and SQL functions get them as values. */
export type GuessLimits = {
  readonly at: number
  /** Failures at or before this time do not count. */
  readonly since: number
  /** The day of the quota, in Lagos. */
  readonly day: number
  readonly maxByKey: number
  readonly maxByAll: number
}

export const toGuessLimits = (at: number): GuessLimits => ({
  at,
  since: at - POLICY.windowMs,
  day: toLagosDay(at),
  maxByKey: POLICY.maxByKey,
  maxByAll: POLICY.maxByAll,
})

/** What was counted before a guess. */
export type GuessFacts = {
  /** Failed matches of the number since the window began, by the key of the guess and by all keys. */
  readonly byKey: number
  readonly byAll: number
  /** The key has asked about this person today. */
  readonly isKnown: boolean
  /** People that the key has asked about today. */
  readonly people: number
}

export type GuessRefusal = 'too_many_attempts' | 'quota_exceeded'

/**
 * The guess limit of a number, and then the quota of the key: the distinct people that it may ask about on one day. PostgreSQL
 * computes the same in functions/admit-guess.sql and check-verifications.sql; test/ledger/same-rules.test.ts compares them.
 */
export function refuseGuess(
  { maxByKey, maxByAll }: Pick<GuessLimits, 'maxByKey' | 'maxByAll'>,
  { byKey, byAll, isKnown, people }: GuessFacts,
  maxPeople: number,
): GuessRefusal | undefined {
  if (byKey >= maxByKey || byAll >= maxByAll) return 'too_many_attempts'
  return !isKnown && people >= maxPeople ? 'quota_exceeded' : undefined
}
