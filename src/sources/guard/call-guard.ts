import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { Payer } from '../../ledger/paid-calls.ts'
import { runningNow } from '../../telemetry/running-clock.ts'
import { SourceError } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'
import { type Breaker, type BreakerState, type CallResult, createBreaker } from './breaker.ts'
import {
  type CallOutcome,
  createCallRecord,
  type HealthFigures,
  type HedgeDelay,
  WARNING_REASONS,
} from './call-record.ts'

/**
 * Why a source was not called. `retry_after`: the vendor asked for a pause. `paid_calls`: the Idempotency-Key of the request
 * has used up its paid calls.
 */
export type SkipReason = 'disabled' | 'breaker_open' | 'spend_cap' | 'retry_after' | 'paid_calls'

/** Allows one call. It must be settled or released; neither waits for the store. */
export type Permit = {
  /** The time until the next source is queried as well; 0 or less when that is due. */
  readonly hedgeAfterMs: () => number
  /** The search stopped waiting for the call. */
  readonly recordHang: () => void
  readonly settle: (outcome: CallOutcome, ms: number) => void
  /** The call was not made, and nothing is paid for. */
  readonly release: () => void
}

/** Decides whether one operation of an external source may be called now: kill switch, cooldown, breaker, spend cap. */
export type CallGuard = {
  readonly name: string
  readonly operation: string
  readonly admit: (call?: GuardedCall) => Promise<Permit | SkipReason>
  readonly read: () => GuardFigures
  /** As far as is known without the store: not disabled, no open breaker, no cooldown. */
  readonly isAvailable: () => boolean
  /** The rest of the vendor's Retry-After. Undefined when the source is disabled. */
  readonly retryAfterMs: () => number | undefined
  /** How often each problem occurred since the start. */
  readonly failures: () => ReadonlyMap<string, number>
}

type GuardedCall = {
  readonly paidCalls?: PaidCalls | undefined
  /** The API key that the call is made for. */
  readonly keyId?: string | undefined
  /** The number that is asked about. */
  readonly person?: string | undefined
}

export const SOURCE_WARNINGS = [...WARNING_REASONS, 'throttled'] as const
type SourceWarning = (typeof SOURCE_WARNINGS)[number]

export type GuardFigures = HealthFigures & {
  readonly state: BreakerState | 'disabled'
  readonly warnings: readonly SourceWarning[]
  /** Requests get no answer from the source: see `createDownCheck`. Health, alerts, events and `doctor` judge by this. */
  readonly down: boolean
}

/** For the log. All values come from closed lists. */
export type GuardEvent = {
  readonly event: 'source_warning' | 'source_breaker'
  readonly reason: string
  readonly state: 'started' | 'continues' | 'ended' | 'open' | 'closed'
}

/** State that all nodes share through the store. */
export type SharedState = {
  readonly isDisabled: (name: string) => boolean
  /** Counts the price of a call, also for the key, and the call itself against its payer, if there is one. */
  readonly spend: (
    name: string,
    paidCalls?: PaidCalls,
    keyId?: string,
  ) => Promise<Spending | 'spend_cap' | 'paid_calls'>
}

/**
 * The paid calls of one Idempotency-Key, or of one verification in the queue, over all nodes. The store counts a call before
 * it is made, so a crash loses none.
 */
export type PaidCalls = {
  readonly payer: Payer
  readonly most: number
  /** Calls made in this request and in earlier ones with the same key. */
  used: number
  /** Refunds of this request that are being written. */
  readonly refunds: Promise<void>[]
}

/** Money that is counted as spent. A refund never fails: what cannot be written now is retried. */
export type Spending = { readonly refund: () => Promise<void> }

type GuardOptions = {
  /** Shared by the operations of a source. */
  readonly cooldown?: Cooldown
  /** Monotonic, without the time during which our process stood still. */
  readonly now?: () => number
  readonly onEvent?: ((event: GuardEvent) => void) | undefined
  /** Called once for each call that has ended. */
  readonly onCall?: ((call: EndedCall) => void) | undefined
}

/** `cut`: our own deadline ended it. */
type EndedCall = {
  readonly result: 'answered' | 'failed' | 'cut'
  readonly ms: number
  readonly isPaid: boolean
}

export function createCallGuard(
  name: string,
  operation: string,
  sharedState: SharedState,
  {
    now = runningNow,
    cooldown = createCooldown(now),
    onEvent = () => {},
    onCall = () => {},
  }: GuardOptions = {},
): CallGuard {
  let lastProblem = 'none'
  const breaker = createBreaker({
    now,
    onChange: (state) => onEvent({ event: 'source_breaker', reason: lastProblem, state }),
  })
  const record = createCallRecord({
    now,
    onWarning: (warning) => onEvent({ event: 'source_warning', ...warning }),
  })
  const isOfSource = createPersonProblems()
  const repeats = createRepeats(now)
  const isDown = createDownCheck()
  const admitOnce = (admitted: 'usual' | 'probe', spending: Spending, person: string): Permit => {
    const { settle, recordHang, hedgeAfterMs } = createCallWait({
      admitted,
      breaker,
      hedgeDelay: record.hedgeDelay,
      isRepeatedHang: () => repeats.isRepeatedHang(person),
      now,
    })
    return {
      hedgeAfterMs,
      recordHang: () => {
        lastProblem = 'too_slow'
        recordHang()
      },
      settle: (outcome, ms) => {
        const failure = outcome instanceof SourceError ? outcome : undefined
        lastProblem = failure?.problem ?? failure?.reason ?? lastProblem
        const counts = isOfSource(outcome, person)
        settle(failure, !repeats.isRepeat(outcome, person, counts) && counts)
        record.add(outcome, ms, counts)
        if (failure?.retryAfterMs !== undefined) cooldown.start(failure.retryAfterMs)
        if (failure && !isPaid(failure)) void spending.refund()
        onCall({ result: toCallResult(failure), ms, isPaid: !failure || isPaid(failure) })
      },
      release: () => {
        breaker.release(admitted)
        void spending.refund()
      },
    }
  }
  return {
    name,
    operation,
    admit: async ({ paidCalls, keyId, person = '' } = {}) => {
      if (sharedState.isDisabled(name)) return 'disabled'
      const admitted = cooldown.remainingMs() > 0 ? undefined : breaker.admit()
      if (admitted === undefined) {
        record.addSkip()
        return cooldown.remainingMs() > 0 ? 'retry_after' : 'breaker_open'
      }
      const spending = await sharedState.spend(name, paidCalls, keyId).catch((error) => {
        breaker.release(admitted)
        throw error
      })
      if (typeof spending !== 'string') return admitOnce(admitted, spending, person)
      breaker.release(admitted)
      return spending
    },
    isAvailable: () =>
      !sharedState.isDisabled(name) && cooldown.remainingMs() === 0 && breaker.state() !== 'open',
    retryAfterMs: () => (sharedState.isDisabled(name) ? undefined : cooldown.remainingMs()),
    failures: () => record.failures,
    read: () => {
      const [health, isDisabled] = [record.read(), sharedState.isDisabled(name)]
      return {
        ...health,
        state: isDisabled ? 'disabled' : breaker.state(),
        warnings: [...record.warnings(), ...(cooldown.remainingMs() > 0 ? (['throttled'] as const) : [])],
        down: isDown(breaker.state(), health) && !isDisabled,
      }
    },
  }
}

const DOWN_RATE = 0.5
/** Lower than the share at which it counts as down, so that it does not flap. */
const UP_RATE = 0.25
const MIN_UNANSWERED = 5

/**
 * A source is down until its breaker has closed again, also between two probes; and while it leaves half of the requests without
 * an answer, which need not open the breaker.
 */
function createDownCheck(): (state: BreakerState, health: HealthFigures) => boolean {
  let isFailing = false
  return (state, { unanswered, unansweredRate }) => {
    isFailing = unansweredRate >= (isFailing ? UP_RATE : DOWN_RATE) && unanswered >= MIN_UNANSWERED
    return isFailing || state !== 'closed'
  }
}

const toCallResult = (failure: SourceError | undefined): EndedCall['result'] =>
  failure ? (failure.fault === 'deadline' ? 'cut' : 'failed') : 'answered'

/** A vendor does not charge for a request that it never received, refused or throttled. */
export const isPaid = ({ sent, reason }: SourceError) =>
  sent && reason !== 'refused' && reason !== 'throttled'

/** The time that a vendor asked for by Retry-After. It holds for all operations of the source. */
type Cooldown = {
  readonly start: (ms: number) => void
  /** 0 when the source may be called. */
  readonly remainingMs: () => number
}

export function createCooldown(now: () => number = () => performance.now()): Cooldown {
  let until = Number.NEGATIVE_INFINITY
  return {
    start: (ms) => {
      until = Math.max(until, now() + ms)
    },
    remainingMs: () => Math.max(0, until - now()),
  }
}

/** A probe of a failing source: the next source is queried as well after this time. */
const PROBE_MS = 200

type CallWaitOptions = {
  readonly admitted: 'usual' | 'probe'
  readonly breaker: Breaker
  readonly hedgeDelay: Pick<HedgeDelay, 'remainingMs'>
  /** Another call about this person hung before. */
  readonly isRepeatedHang: () => boolean
  readonly now: () => number
}

/** One call as the breaker sees it: when to hedge, and the result. It counts as one hang at most. */
function createCallWait({ admitted, breaker, hedgeDelay, isRepeatedHang, now }: CallWaitOptions) {
  const startedAt = now()
  let hasHung = false
  const recordHang = () => {
    // For a probe, only its result counts.
    if (hasHung || admitted === 'probe') return
    hasHung = true
    if (!isRepeatedHang()) breaker.recordHang()
  }
  return {
    hedgeAfterMs: (): number =>
      admitted === 'probe'
        ? startedAt + PROBE_MS - now()
        : hedgeDelay.remainingMs(startedAt, breaker.isSuspect()),
    recordHang,
    /** `counts`: the breaker counts the failure. */
    settle: (failure: SourceError | undefined, counts: boolean): void => {
      if (failure?.reason === 'timeout' && counts) recordHang()
      if (failure && !counts) breaker.release(admitted)
      else breaker.settle(admitted, toBreakerResult(failure))
    },
  }
}

function toBreakerResult(failure: SourceError | undefined): CallResult {
  if (!failure) return 'success'
  return failure.reason === 'timeout' ? 'timeout' : 'failure'
}

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
function createRepeats(now: () => number): Repeats {
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
