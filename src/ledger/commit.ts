import type { PackedRows } from './encoded-rows.ts'
import {
  type GuessFacts,
  type GuessLimits,
  type GuessRefusal,
  refuseGuess,
  toGuessLimits,
} from './guess-rule.ts'
import type { Completion } from './idempotency-table.ts'
import type { QueueBatch, QueueRefusal } from './queue-rows.ts'
import type { Tally } from './tally.ts'

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
  readonly maxPeople: number
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
export type Refusal = GuessRefusal | 'changed'

/** By position in the batch. Nothing of a batch with refusals is written. */
export type Refused<Reason = Refusal> = readonly (readonly [position: number, reason: Reason])[]

type At = { readonly position: number }
export type BatchGuess = At & Omit<CheckedGuess, 'attempt'>
export type BatchAnswer = At & Omit<CheckedAnswer, 'sealed'> & { readonly size: number }

/** The checks of all verifications in one commit. */
export type CheckBatch = GuessLimits & {
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
      const maxPeople = quotas.get(guess.keyId) ?? guess.maxPeople
      quotas.set(guess.keyId, maxPeople)
      guesses.push({ position, ...guess, maxPeople })
    }
    if (check?.answer) {
      const { sealed: bytes, ...answer } = check.answer
      sealed.push(bytes)
      answers.push({ position, ...answer, size: bytes.length })
    }
  }
  if (guesses.length + answers.length === 0) return undefined
  return { ...toGuessLimits(at), guesses, answers, sealed: joinBytes(sealed) }
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

/** Decides in the order of the batch, as if its verifications came one by one. */
export function findRefused(batch: CheckBatch, facts: CheckFacts): Refused {
  const { guesses, answers } = batch
  const refused = new Map<number, Refusal>()
  for (const [index, { position }] of answers.entries())
    if (!facts.answers[index]) refused.set(position, 'changed')
  const counts = createCounts()
  for (const [index, guess] of guesses.entries()) {
    const { position } = guess
    if (refused.has(position)) continue
    const counted = counts.addTo(guess, facts.guesses[index] as GuessFacts)
    const refusal = refuseGuess(batch, counted, guess.maxPeople)
    if (refusal) refused.set(position, refusal)
    else counts.count(guess, counted)
  }
  return [...refused]
}

/** What the guesses before in the same batch add to the facts. */
function createCounts() {
  const failures = new Map<string, number>()
  const people = new Map<string, Set<string>>()
  const peopleOf = (keyId: string) => people.get(keyId) ?? new Set<string>()
  const toPair = ({ subject, keyId }: BatchGuess) => `${subject} ${keyId}`
  return {
    addTo: (guess: BatchGuess, { byKey, byAll, isKnown, people }: GuessFacts): GuessFacts => {
      const added = peopleOf(guess.keyId)
      return {
        byKey: byKey + (failures.get(toPair(guess)) ?? 0),
        byAll: byAll + (failures.get(guess.subject) ?? 0),
        isKnown: isKnown || added.has(guess.subject),
        people: people + added.size,
      }
    },
    count: (guess: BatchGuess, { isKnown }: GuessFacts): void => {
      const { subject, keyId, isWrong } = guess
      if (!isKnown) people.set(keyId, peopleOf(keyId).add(subject))
      if (isWrong)
        for (const name of [subject, toPair(guess)]) failures.set(name, (failures.get(name) ?? 0) + 1)
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
