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
  const key = createSecretKey(randomBytes(32))
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
    if (people.size < PEOPLE) people.add(createHmac('sha256', key).update(person).digest('base64'))
    return people.size >= PEOPLE
  }
}
