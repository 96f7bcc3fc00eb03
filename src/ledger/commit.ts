import { DAY_MS, toLagosDay } from '../contract/time.ts'
import type { PackedRows } from './encoded-rows.ts'
import type { Completion } from './idempotency-table.ts'
import type { QueueBatch, QueueRefusal } from './queue-change.ts'
import type { Tally } from './tally.ts'

/**
 * Failed matches of one number within the window, by one key and by all: enough for typing errors, too few for guessing.
 */
export const GUESS_LIMITS = { mostByKey: 5, mostByAll: 20, windowMs: DAY_MS } as const

/** What is asserted and written in the same commit as the audit rows of a verification. Hashes are in hex. */
export type CommitCheck = {
  /** Absent for test keys, which have no limits. */
  readonly guess: CheckedGuess | undefined
  /** Absent without an Idempotency-Key, and for failures, which are not stored. */
  readonly answer: CheckedAnswer | undefined
}

export type CheckedGuess = {
  readonly subject: string
  readonly keyId: string
  /** A wrong guess is counted. A correct one leaves nothing. */
  readonly isWrong: boolean
  /** Distinct people that the key may ask about on one day. */
  readonly most: number
  /** Shared by identical requests that run at the same time: together they count once. */
  readonly attempt: { counted: boolean }
}

/** A response to be stored under its Idempotency-Key, which no other response may hold. */
export type CheckedAnswer = {
  readonly keyId: string
  readonly operation: string
  readonly name: string
  readonly fingerprint: string
  readonly subject: string
  readonly owner: string
  readonly sealed: Uint8Array
  readonly expiresAt: number
  /** The registry record that the response contains: it must still exist, so that an erased person is not stored again. */
  readonly record: string | undefined
}

/** Why a verification was not recorded. `changed`: another response is stored, or the record was erased. */
export type Refusal = 'too_many_attempts' | 'quota_exceeded' | 'changed'

/** By position in the batch. Nothing of a batch with refusals is written. */
export type Refused<Reason = Refusal> = readonly (readonly [position: number, reason: Reason])[]

type At = { readonly position: number }
export type BatchGuess = At & Omit<CheckedGuess, 'attempt'>
export type BatchAnswer = At & Omit<CheckedAnswer, 'sealed'> & { readonly size: number }

/** The checks of all verifications in one commit. */
export type CheckBatch = {
  readonly at: number
  readonly since: number
  readonly day: number
  readonly guesses: readonly BatchGuess[]
  readonly answers: readonly BatchAnswer[]
  /** The sealed responses, one after another. One buffer travels faster to the writer thread than many. */
  readonly sealed: Uint8Array
}

/** Undefined when there is nothing to check. An identical guess that is counted already needs no check. */
export function packChecks(checks: readonly (CommitCheck | undefined)[], at: number): CheckBatch | undefined {
  const guesses: BatchGuess[] = []
  const answers: BatchAnswer[] = []
  const sealed: Uint8Array[] = []
  const wrong = new Set<CheckedGuess['attempt']>()
  const quotas = new Map<string, number>()
  for (const [position, check] of checks.entries()) {
    if (check?.guess && !check.guess.attempt.counted && !wrong.has(check.guess.attempt)) {
      const { attempt, ...guess } = check.guess
      if (guess.isWrong) wrong.add(attempt)
      // One quota for each key, also while it is being changed.
      const most = quotas.get(guess.keyId) ?? guess.most
      quotas.set(guess.keyId, most)
      guesses.push({ position, ...guess, most })
    }
    if (check?.answer) {
      const { sealed: bytes, ...answer } = check.answer
      sealed.push(bytes)
      answers.push({ position, ...answer, size: bytes.length })
    }
  }
  if (guesses.length + answers.length === 0) return undefined
  const since = at - GUESS_LIMITS.windowMs
  return { at, since, day: toLagosDay(at), guesses, answers, sealed: joinBytes(sealed) }
}

/** In a buffer of its own: a thread is sent the whole buffer that a view belongs to. */
function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const part of parts) {
    joined.set(part, end)
    end += part.length
  }
  return joined
}

/** What the database says about each guess and each answer of a batch, in their order. */
export type CheckFacts = {
  readonly guesses: readonly GuessFacts[]
  /** Whether the response can be stored. */
  readonly answers: readonly boolean[]
}

type GuessFacts = {
  readonly byKey: number
  readonly byAll: number
  /** The key has asked about this person today. */
  readonly isKnown: boolean
  /** People that the key has asked about today. */
  readonly people: number
}

/** Decides in the order of the batch, as if its verifications came one by one. */
export function findRefused({ guesses, answers }: CheckBatch, facts: CheckFacts): Refused {
  const refused = new Map<number, Refusal>()
  for (const [index, { position }] of answers.entries())
    if (!facts.answers[index]) refused.set(position, 'changed')
  const counts = createCounts()
  for (const [index, guess] of guesses.entries()) {
    const { position } = guess
    if (refused.has(position)) continue
    const refusal = counts.admit(guess, facts.guesses[index] as GuessFacts)
    if (refusal) refused.set(position, refusal)
  }
  return [...refused]
}

/** What the guesses before in the same batch add to the facts. */
function createCounts() {
  const failures = new Map<string, number>()
  const people = new Map<string, Set<string>>()
  const countFailures = (name: string) => failures.get(name) ?? 0
  const isAtLimit = ({ subject }: BatchGuess, pair: string, { byKey, byAll }: GuessFacts) =>
    byKey + countFailures(pair) >= GUESS_LIMITS.mostByKey ||
    byAll + countFailures(subject) >= GUESS_LIMITS.mostByAll
  const isBeyondQuota = ({ subject, keyId, most }: BatchGuess, facts: GuessFacts) => {
    const added = people.get(keyId) ?? new Set<string>()
    if (facts.isKnown || added.has(subject)) return false
    if (facts.people + added.size >= most) return true
    people.set(keyId, added.add(subject))
    return false
  }
  return {
    /** Counts the guess, unless it is refused. */
    admit: (guess: BatchGuess, facts: GuessFacts): Refusal | undefined => {
      const { subject, keyId, isWrong } = guess
      const pair = `${subject} ${keyId}`
      if (isAtLimit(guess, pair, facts)) return 'too_many_attempts'
      if (isBeyondQuota(guess, facts)) return 'quota_exceeded'
      if (isWrong) for (const name of [subject, pair]) failures.set(name, countFailures(name) + 1)
      return undefined
    },
  }
}

/**
 * Writes all rows, completions, changes of the queue and tallies in one commit, with what the checks count; or nothing, if a
 * check or the queue refuses a verification.
 */
export type Append = (
  rows: PackedRows,
  completions: readonly Completion[],
  tallies?: readonly Tally[],
  checks?: CheckBatch,
  queue?: QueueBatch,
) => Promise<Appended>

/** What is written in one commit. */
export type AuditBatch<Rows extends PackedRows> = {
  readonly rows: Rows
  readonly completions: readonly Completion[]
  readonly tallies: readonly Tally[]
  readonly checks: CheckBatch | undefined
}

export type Appended = {
  /** If there are any, nothing was written. */
  readonly refused: Refused<Refusal | QueueRefusal>
  /** Indexes of the completions whose claim another request has taken: those are not written. */
  readonly late: readonly number[]
}
