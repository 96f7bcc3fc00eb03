import type { PackedRows } from './encoded-rows.ts'
import {
  type GuessFacts,
  type GuessLimits,
  type GuessRefusal,
  refuseGuess,
  toGuessLimits,
} from './guess-rule.ts'
import type { Completion, NewClaim, Release } from './idempotency-table.ts'
import type { PaidCall } from './paid-calls.ts'
import type { QueueBatch, QueueRefusal } from './queue-rows.ts'
import type { Tally } from './tally.ts'

/** What a verification asserts and writes in the same commit as its audit rows. Hashes are in hex. */
export type CommitParts = {
  /** Absent for test keys, which have no limits. */
  readonly guess?: CheckedGuess | undefined
  /** Absent without an Idempotency-Key, and for failures, which are not stored. */
  readonly answer?: CheckedAnswer | undefined
  /** The first use of an Idempotency-Key. */
  readonly claim?: NewClaim | undefined
  /** A paid call of a claim that is held already, or of a verification in the queue. */
  readonly payment?: PaidCall | undefined
  /** Paid calls that are about to be made, and those that were not billed. */
  readonly spending?: readonly Spending[] | undefined
  /** The response under an Idempotency-Key that was claimed before. */
  readonly completion?: Completion | undefined
  /** A claim that ends without a response. */
  readonly release?: Release | undefined
  /** The end of a guess that was counted as failed until it is known. */
  readonly settled?: SettledGuess | undefined
  /** A result that may be reused. */
  readonly kept?: KeptResult | undefined
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
  /** Of a guess whose result is not known yet: it counts as wrong until it is settled. */
  readonly id?: string | undefined
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

/** Money for one call to a source, of the node that makes it. */
export type Spending = {
  readonly name: string
  readonly day: number
  readonly node: string
  /** -1: the call was not billed, and its price is given back. */
  readonly calls: 1 | -1
  readonly kobo: number
  /** Whether the node may spend only what it has leased. */
  readonly isCapped: boolean
  /** The API key that the call is made for, and the month in Lagos time, such as 2026-11. */
  readonly key?: { readonly id: string; readonly month: string } | undefined
}

export type SettledGuess = { readonly subject: string; readonly id: string; readonly isFailed: boolean }

/** Subjects are keyed hashes, results are sealed. */
export type KeptResult = {
  readonly subject: Uint8Array
  readonly sealed: Uint8Array
  readonly expiresAt: number
}

/**
 * Why a verification was not recorded. `changed`: another response is stored, or the record was erased. `claimed`: the
 * Idempotency-Key is known. `paid_calls`: the payer has none left. `money_lost`: the
 * lease of the node was taken back.
 */
export type Refusal = GuessRefusal | 'changed' | 'claimed' | 'paid_calls' | 'money_lost'

/** By position in the batch. Nothing of a batch with refusals is written. */
export type Refused<Reason = Refusal> = readonly (readonly [position: number, reason: Reason])[]

type At = { readonly position: number }
export type BatchGuess = At & Omit<CheckedGuess, 'attempt'>
export type BatchAnswer = At & Omit<CheckedAnswer, 'sealed'> & { readonly size: number }

/** What a node spends on a source in one commit. */
export type BatchShare = Omit<Spending, 'calls' | 'key'> & {
  readonly positions: number[]
  calls: number
  kobo: number
}
type BatchKeyShare = {
  readonly month: string
  readonly keyId: string
  readonly name: string
  readonly node: string
  calls: number
  kobo: number
}

/** The parts of all verifications in one commit. */
export type CommitBatch = GuessLimits & {
  readonly guesses: readonly BatchGuess[]
  readonly answers: readonly BatchAnswer[]
  /** The sealed responses, one after another. One buffer travels faster to the writer thread than many. */
  readonly sealed: Uint8Array
  readonly claims: readonly (At & NewClaim)[]
  readonly payments: readonly (At & PaidCall)[]
  readonly shares: readonly BatchShare[]
  /** Only given back: needs no lease. */
  readonly refunds: readonly BatchShare[]
  readonly keyShares: readonly BatchKeyShare[]
  readonly completions: readonly (At & Completion)[]
  readonly releases: readonly Release[]
  readonly settled: readonly SettledGuess[]
  readonly kept: readonly KeptResult[]
}

/** Undefined when there is nothing to check or to write. An identical guess that is counted already needs no check. */
export function packParts(parts: readonly (CommitParts | undefined)[], at: number): CommitBatch | undefined {
  if (!parts.some(isFilled)) return undefined
  const take = <Name extends keyof CommitParts>(name: Name) =>
    parts.flatMap((each, position) => {
      const part = each?.[name]
      return part === undefined ? [] : [{ position, part: part as NonNullable<CommitParts[Name]> }]
    })
  const answers = take('answer')
  const spending = take('spending')
  const shares = addShares(spending)
  return {
    ...toGuessLimits(at),
    guesses: packGuesses(take('guess')),
    answers: answers.map(({ position, part: { sealed, ...answer } }) => ({
      position,
      ...answer,
      size: sealed.length,
    })),
    sealed: joinBytes(answers.map(({ part }) => part.sealed)),
    claims: take('claim').map(({ position, part }) => ({ position, ...part })),
    payments: take('payment').map(({ position, part }) => ({ position, ...part })),
    shares: shares.filter(({ positions }) => positions.length > 0),
    refunds: shares.filter(({ positions }) => positions.length === 0),
    keyShares: addKeyShares(spending),
    completions: take('completion').map(({ position, part }) => ({ position, ...part })),
    releases: take('release').map(({ part }) => part),
    settled: take('settled').map(({ part }) => part),
    // The last one counts.
    kept: [
      ...new Map(take('kept').map(({ part }) => [Buffer.from(part.subject).toString('hex'), part])).values(),
    ],
  }
}

const isFilled = (parts: CommitParts | undefined) =>
  parts !== undefined && Object.values(parts).some((part) => part !== undefined)

type Taken<Part> = readonly { readonly position: number; readonly part: Part }[]

function packGuesses(taken: Taken<CheckedGuess>): BatchGuess[] {
  const wrong = new Set<CheckedGuess['attempt']>()
  const quotas = new Map<string, number>()
  return taken.flatMap(({ position, part: { attempt, ...guess } }) => {
    if (attempt.counted || wrong.has(attempt)) return []
    if (guess.isWrong) wrong.add(attempt)
    // One quota for each key, also while it is being changed.
    const maxPeople = quotas.get(guess.keyId) ?? guess.maxPeople
    quotas.set(guess.keyId, maxPeople)
    return [{ position, ...guess, maxPeople }]
  })
}

/** By source, day and node. `positions` are those that spend. */
function addShares(taken: Taken<readonly Spending[]>): BatchShare[] {
  const shares = new Map<string, BatchShare>()
  for (const { position, part } of taken)
    for (const { name, day, node, calls, kobo, isCapped } of part) {
      const id = `${name} ${day} ${node}`
      const share = shares.get(id) ?? { name, day, node, isCapped, positions: [], calls: 0, kobo: 0 }
      if (calls > 0) share.positions.push(position)
      share.calls += calls
      share.kobo += calls * kobo
      shares.set(id, share)
    }
  return [...shares.values()]
}

function addKeyShares(taken: Taken<readonly Spending[]>): BatchKeyShare[] {
  const shares = new Map<string, BatchKeyShare>()
  for (const { part } of taken)
    for (const { name, node, calls, kobo, key } of part) {
      if (!key) continue
      const id = `${key.month} ${key.id} ${name} ${node}`
      const share = shares.get(id) ?? { month: key.month, keyId: key.id, name, node, calls: 0, kobo: 0 }
      share.calls += calls
      share.kobo += calls * kobo
      shares.set(id, share)
    }
  return [...shares.values()]
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

/** What the database says about each guess, answer, claim, payment and share of a batch, in their order. */
export type CommitFacts = {
  readonly guesses: readonly GuessFacts[]
  /** Whether the response can be stored. */
  readonly answers: readonly boolean[]
  /** Whether the Idempotency-Key is free. */
  readonly claims: readonly boolean[]
  /** Whether the payer has paid calls left. */
  readonly payments: readonly boolean[]
  /** Whether the node has leased the money. */
  readonly shares: readonly boolean[]
}

/** Decides in the order of the batch, as if its verifications came one by one. */
export function findRefused(batch: CommitBatch, facts: CommitFacts): Refused {
  const refused = new Map<number, Refusal>()
  const require = (
    isMet: readonly boolean[],
    positions: readonly (readonly number[])[],
    refusal: Refusal,
  ) => {
    for (const position of positions.filter((_each, index) => !isMet[index]).flat())
      if (!refused.has(position)) refused.set(position, refusal)
  }
  const at = (list: readonly At[]) => list.map(({ position }) => [position])
  require(facts.answers, at(batch.answers), 'changed')
  require(facts.claims, at(batch.claims), 'claimed')
  require(facts.payments, at(batch.payments), 'paid_calls')
  require(facts.shares, batch.shares.map(({ positions }) => positions), 'money_lost')
  const counts = createCounts()
  for (const [index, guess] of batch.guesses.entries()) {
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

/** What is written in one commit. */
export type AuditBatch<Rows extends PackedRows = PackedRows> = {
  readonly rows: Rows
  readonly tallies?: readonly Tally[]
  readonly parts?: CommitBatch | undefined
}

/** Writes all rows, parts, changes of the queue and tallies in one commit; or nothing, if a verification is refused. */
export type Append = (batch: AuditBatch, queue?: QueueBatch) => Promise<Appended>

export type Appended = {
  /** If there are any, nothing was written. */
  readonly refused: Refused<Refusal | QueueRefusal>
  /** Positions of the completions whose claim another request has taken: those are not written. */
  readonly late: readonly number[]
}
