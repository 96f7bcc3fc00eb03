import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
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
import { type Connections, createConnections } from './connections.ts'

/**
 * Why a source was not called. `retry_after`: the vendor asked for a pause. `paid_calls`: the Idempotency-Key of the request
 * has used up its paid calls. `busy`: all connections of this process to the vendor were in use for a second.
 */
export type SkipReason = 'disabled' | 'breaker_open' | 'spend_cap' | 'retry_after' | 'paid_calls' | 'busy'

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
  readonly admit: (call: GuardedCall) => Promise<Permit | SkipReason>
  readonly read: () => GuardFigures
  /** As far as is known without the store: not disabled, no open breaker, no cooldown. */
  readonly isAvailable: () => boolean
  /** The rest of the vendor's Retry-After. Undefined when the source is disabled. */
  readonly retryAfterMs: () => number | undefined
  /** How often each problem occurred since the start. */
  readonly failures: () => ReadonlyMap<string, number>
}

/** Writes the price of a call before it is made. */
export type Pay = (source: string) => Promise<Spending | 'spend_cap' | 'paid_calls'>

type GuardedCall = {
  readonly pay: Pay
  /** That of the caller's key: see `Connections`. */
  readonly lineage: string
  /** The deadline of the search. */
  readonly signal?: AbortSignal | undefined
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
}

/** Money that is counted as spent. A refund never fails: what cannot be written now is written later. */
export type Spending = { readonly refund: () => void }

type GuardOptions = {
  /** Shared by the operations of a source. */
  readonly cooldown?: Cooldown
  /** The same. */
  readonly connections?: Connections
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
    connections = createConnections(Number.POSITIVE_INFINITY),
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
  const admitOnce: AdmitParts['admitOnce'] = (admitted, spending, { person = '', lineage }) => {
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
        if (failure && !isPaid(failure)) spending.refund()
        connections.leave(lineage)
        onCall({ result: toCallResult(failure), ms, isPaid: !failure || isPaid(failure) })
      },
      release: () => {
        breaker.release(admitted)
        spending.refund()
        connections.leave(lineage)
      },
    }
  }
  /** As far as is known without the store. */
  const findSkip = (): SkipReason | undefined => {
    if (sharedState.isDisabled(name)) return 'disabled'
    if (cooldown.remainingMs() > 0) return 'retry_after'
    return breaker.state() === 'open' ? 'breaker_open' : undefined
  }
  return {
    name,
    operation,
    admit: createAdmit({ name, connections, breaker, findSkip, addSkip: record.addSkip, admitOnce }),
    isAvailable: () => findSkip() === undefined,
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

type AdmitParts = {
  readonly name: string
  readonly connections: Connections
  readonly breaker: Breaker
  readonly findSkip: () => SkipReason | undefined
  readonly addSkip: () => void
  readonly admitOnce: (admitted: 'usual' | 'probe', spending: Spending, call: GuardedCall) => Permit
}

/** A connection of ours first: the wait for it says nothing about the source, and nothing is measured or paid yet. */
function createAdmit(parts: AdmitParts): CallGuard['admit'] {
  const { name, connections, breaker, findSkip, addSkip, admitOnce } = parts
  const skip = (reason: SkipReason): SkipReason => {
    if (reason === 'retry_after' || reason === 'breaker_open') addSkip()
    return reason
  }
  const payAndAdmit = async (call: GuardedCall): Promise<Permit | SkipReason> => {
    const refusal = findSkip()
    const admitted = refusal ? undefined : breaker.admit()
    if (!admitted) return skip(refusal ?? 'breaker_open')
    const spending = await call.pay(name).catch((error) => {
      breaker.release(admitted)
      throw error
    })
    if (typeof spending !== 'string') return admitOnce(admitted, spending, call)
    breaker.release(admitted)
    return spending
  }
  return async (call) => {
    const refusal = findSkip()
    if (refusal) return skip(refusal)
    if (!(await connections.enter(call.lineage, call.signal))) return 'busy'
    let permit: Permit | SkipReason | undefined
    try {
      permit = await payAndAdmit(call)
      return permit
    } finally {
      if (typeof permit !== 'object') connections.leave(call.lineage)
    }
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
