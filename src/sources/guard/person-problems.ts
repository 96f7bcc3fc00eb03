import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { SourceError } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'
import type { CallOutcome } from './source-warnings.ts'

/** When this many different people in a row have the same problem, it is one of the source. */
const PEOPLE = 6

/** "Not found" has no phone, so it does not show that records have one. */
const OF_RECORDS: readonly (SourceProblem | undefined)[] = ['no_phone', 'unreadable_phone', 'mixed_phones']

/**
 * Decides whether the outcome of a call counts against the source. A record without a phone, or an error text that is on no list,
 * may be about one person only: then it does not count, however often that person is asked about. People are told apart by a hash
 * under a key of this process, and at most six are kept.
 */
export function createPersonProblems(): (outcome: CallOutcome, person: string) => boolean {
  const toHash = createPersonHash()
  const people = new Set<string>()
  let problem: SourceProblem | undefined
  return (outcome, person) => {
    if (!(outcome instanceof SourceError)) {
      if (outcome === 'found' || !OF_RECORDS.includes(problem)) people.clear()
      return false
    }
    if (outcome.fault !== 'request') return outcome.fault === 'source'
    if (outcome.problem !== problem) people.clear()
    problem = outcome.problem
    if (people.size < PEOPLE) people.add(toHash(person))
    return people.size >= PEOPLE
  }
}

/** The window of the breaker. */
const REMEMBERED_MS = 30_000
/** With more people than that, it is the source. */
const MAX_REMEMBERED = 1000

type Repeats = {
  /**
   * Whether a failed call is about a person about whom another one failed, in the same row of failures or within 30 seconds. To be
   * called with every outcome, and whether it counts against the source.
   */
  readonly isRepeat: (outcome: CallOutcome, person: string, counts: boolean) => boolean
  /** Whether a call that hangs is about a person about whom another one hung, in the same row. */
  readonly isRepeatedHang: (person: string) => boolean
}

/**
 * A vendor may fail for one person only, however often that person is asked about: then the breaker counts it once, so that one caller
 * cannot switch the source off for all others. A request that was never sent says nothing about a person, and always counts.
 */
export function createRepeats(now: () => number): Repeats {
  const toHash = createPersonHash()
  /** When each failed; the oldest first. */
  const failed = new Map<string, number>()
  const hung = new Set<string>()
  const deleteOld = () => {
    for (const [hash, at] of failed) {
      if (now() - at < REMEMBERED_MS) return
      failed.delete(hash)
    }
  }
  return {
    isRepeat: (outcome, person, counts) => {
      const failure = outcome instanceof SourceError ? outcome : undefined
      if (!failure) deleteOld()
      if (failure?.reason !== 'timeout') hung.clear()
      if (!failure?.sent || !counts || person === '') return false
      const hash = toHash(person)
      if (failed.has(hash)) return true
      if (failed.size < MAX_REMEMBERED) failed.set(hash, now())
      return false
    },
    isRepeatedHang: (person) => {
      if (person === '') return false
      const hash = toHash(person)
      if (hung.has(hash)) return true
      if (hung.size < PEOPLE) hung.add(hash)
      return false
    },
  }
}

/** Under a key of this process: no number is kept. */
function createPersonHash(): (person: string) => string {
  const key = createSecretKey(randomBytes(32))
  return (person) => createHmac('sha256', key).update(person).digest('base64')
}
