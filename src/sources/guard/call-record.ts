import { MINUTE_MS } from '../../contract/time.ts'
import { SourceError } from '../source.ts'
import type { SourceProblem } from '../source-problem.ts'

/** The results of the calls to one operation of a source: health, warnings, failures. */
type CallRecord = {
  readonly add: (outcome: CallOutcome, ms: number, isOfSource: boolean) => void
  readonly addSkip: () => void
  readonly hedgeDelay: Pick<HedgeDelay, 'remainingMs'>
  readonly read: () => HealthFigures
  readonly warnings: SourceWarnings['list']
  /** How often each problem occurred since the start. */
  readonly failures: ReadonlyMap<string, number>
}

type Options = {
  readonly now: () => number
  readonly onWarning: (event: WarningEvent) => void
}

export function createCallRecord({ now, onWarning }: Options): CallRecord {
  const health = createHealth(now)
  const hedgeDelay = createHedgeDelay(now)
  const warnings = createSourceWarnings({ now, onEvent: onWarning })
  const failures = new Map<string, number>()
  return {
    add: (outcome, ms, isOfSource) => {
      const failure = outcome instanceof SourceError ? outcome : undefined
      // A call that our own deadline cut short says nothing about the source.
      if (failure?.fault === 'deadline') return
      health.record(!failure, ms, isOfSource)
      warnings.record(outcome)
      if (failure?.reason !== 'timeout') hedgeDelay.recordAnswer()
      if (!failure) return hedgeDelay.recordSuccess(ms)
      const reason = failure.problem ?? failure.reason
      failures.set(reason, (failures.get(reason) ?? 0) + 1)
    },
    addSkip: health.recordSkip,
    hedgeDelay,
    read: health.read,
    warnings: warnings.list,
    failures,
  }
}

/** Health of one operation of a source over the last five minutes. Times are milliseconds. */
type Health = {
  /** `isOfSource`: a failure counts against the source. */
  readonly record: (succeeded: boolean, ms: number, isOfSource?: boolean) => void
  /** A request needed the source, and it was not called: it failed before, or asked for a pause. */
  readonly recordSkip: () => void
  readonly read: () => HealthFigures
}

export type HealthFigures = {
  /** Since the start. */
  readonly calls: number
  readonly failures: number
  /** Of the failures, those that count against the source. The others may be about one person each. */
  readonly sourceFailures: number
  readonly skipped: number
  /** In the last five minutes, like the error rate (0 without calls) and the times. */
  readonly recentCalls: number
  readonly errorRate: number
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly lastSuccessAt: string | null
  /**
   * Of the requests of the last five minutes that needed the source, those without an answer: skipped, or failed by a problem of the
   * source.
   */
  readonly unanswered: number
  readonly unansweredRate: number
}

const WINDOW_MS = 5 * MINUTE_MS
const SLOT_MS = 10_000
const SLOTS = WINDOW_MS / SLOT_MS
/** A histogram whose buckets grow by a tenth: exact to 5 %, in constant memory. */
const STEP = 1.1
const BUCKETS = 110

type Slot = {
  id: number
  calls: number
  failures: number
  sourceFailures: number
  skipped: number
  readonly times: Uint32Array
}

const toBucket = (ms: number) =>
  ms <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log(ms) / Math.log(STEP)))
const toMs = (index: number) => Math.round(STEP ** (index - 0.5))

/** `now` is monotonic: setting the clock must not bring old failures back. */
export function createHealth(now: () => number = () => performance.now()): Health {
  const slots: Slot[] = Array.from({ length: SLOTS }, () => ({
    id: -SLOTS,
    calls: 0,
    failures: 0,
    sourceFailures: 0,
    skipped: 0,
    times: new Uint32Array(BUCKETS),
  }))
  const current = () => Math.floor(now() / SLOT_MS)
  let calls = 0
  let failures = 0
  let sourceFailures = 0
  let skipped = 0
  let lastSuccess: number | undefined
  const toSlot = (): Slot => {
    const id = current()
    const slot = slots[id % SLOTS] as Slot
    if (slot.id !== id) {
      Object.assign(slot, { id, calls: 0, failures: 0, sourceFailures: 0, skipped: 0 })
      slot.times.fill(0)
    }
    return slot
  }
  return {
    recordSkip: () => {
      toSlot().skipped += 1
      skipped += 1
    },
    record: (succeeded, ms, isOfSource = true) => {
      const slot = toSlot()
      const index = toBucket(ms)
      slot.times[index] = (slot.times[index] as number) + 1
      slot.calls += 1
      calls += 1
      if (succeeded) lastSuccess = Date.now()
      else {
        slot.failures += 1
        failures += 1
        slot.sourceFailures += isOfSource ? 1 : 0
        sourceFailures += isOfSource ? 1 : 0
      }
    },
    read: () => ({
      calls,
      failures,
      sourceFailures,
      skipped,
      ...summarise(slots.filter(({ id }) => id > current() - SLOTS)),
      lastSuccessAt: lastSuccess === undefined ? null : new Date(lastSuccess).toISOString(),
    }),
  }
}

function summarise(recent: readonly Slot[]) {
  const recentCalls = recent.reduce((sum, slot) => sum + slot.calls, 0)
  const recentFailures = recent.reduce((sum, slot) => sum + slot.failures, 0)
  const recentSkipped = recent.reduce((sum, slot) => sum + slot.skipped, 0)
  const unanswered = recent.reduce((sum, slot) => sum + slot.sourceFailures, 0) + recentSkipped
  const times = new Uint32Array(BUCKETS)
  for (const slot of recent)
    for (const [index, count] of slot.times.entries()) times[index] = (times[index] as number) + count
  const at = (quantile: number) =>
    recentCalls === 0 ? null : findTime(times, Math.floor(recentCalls * quantile))
  return {
    recentCalls,
    errorRate: recentCalls === 0 ? 0 : recentFailures / recentCalls,
    unanswered,
    unansweredRate: unanswered === 0 ? 0 : unanswered / (recentCalls + recentSkipped),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
  }
}

/** The time below which this many calls stayed. */
function findTime(times: Uint32Array, below: number): number {
  let seen = 0
  const index = times.findIndex((count) => {
    seen += count
    return seen > below
  })
  return toMs(index)
}

/** How long a call may take before the next source is queried as well. Learned per operation of a source. */
export type HedgeDelay = {
  /** The source answered, successfully or not. */
  readonly recordAnswer: () => void
  readonly recordSuccess: (ms: number) => void
  /** 0 or less when the hedge is due. */
  readonly remainingMs: (startedAt: number, isSuspect: boolean) => number
}

/** Enough for a median, few enough to follow a vendor that becomes slower. Not limited in time: some are called rarely. */
const REMEMBERED = 50
const MIN_KNOWN = 5

/** A multiple of the median time, within bounds; `unknown` while there are too few answers. */
type Rule = {
  readonly factor: number
  readonly min: number
  readonly max: number
  readonly unknown: number
}
const USUAL: Rule = { factor: 4, min: 1000, max: 4000, unknown: 2000 }
const SUSPECT: Rule = { factor: 1.5, min: 200, max: 1000, unknown: 1000 }
/** A source that is always slow is not hanging: without this, every call to it would be paid twice. */
const ALWAYS_SLOW = 1.5

/**
 * Uses the median, so that a source that hangs and answers late does not lengthen the delay. While the source answers other
 * calls, the delay starts again, once: then only this call is slow, and a second paid call is saved.
 */
export function createHedgeDelay(now: () => number = () => performance.now()): HedgeDelay {
  const times: number[] = []
  let recorded = 0
  /** Undefined until it is needed. */
  let median: number | undefined
  let answeredAt = Number.NEGATIVE_INFINITY

  const readMedian = (): number | undefined => {
    if (recorded >= MIN_KNOWN) median ??= times.toSorted((one, other) => one - other)[times.length >> 1]
    return median
  }
  const toMs = ({ factor, min, max, unknown }: Rule) => {
    const ms = readMedian()
    return ms === undefined ? unknown : Math.min(Math.max(ms * factor, min), max)
  }
  return {
    recordAnswer: () => {
      answeredAt = now()
    },
    recordSuccess: (ms) => {
      times[recorded % REMEMBERED] = ms
      recorded += 1
      median = undefined
    },
    remainingMs: (startedAt, isSuspect) => {
      if (isSuspect) return startedAt + toMs(SUSPECT) - now()
      const delay = Math.max(toMs(USUAL), (readMedian() ?? 0) * ALWAYS_SLOW)
      return Math.min(Math.max(startedAt, answeredAt) + delay, startedAt + 2 * delay) - now()
    },
  }
}

/** Lasts until the operator fixes it: it ends with the next answer. */
export const LASTING_WARNINGS = ['no_funds', 'credentials_refused', 'unknown_path'] as const
/** Occurs with some requests only: it ends when it has not occurred for five minutes. */
const OCCASIONAL = ['unlisted_answer', 'question_rejected', 'unreadable_phone'] as const

/** Problems that only the operator can fix. `mostly_not_found` points to a wrong product or a test address. */
export const WARNING_REASONS = [...LASTING_WARNINGS, ...OCCASIONAL, 'mostly_not_found'] as const
type WarningReason = (typeof WARNING_REASONS)[number]

/** The outcome of a call: a failure, or whether a record was found. */
export type CallOutcome = SourceError | 'found' | 'not_found'

export type WarningEvent = {
  readonly reason: WarningReason
  readonly state: 'started' | 'continues' | 'ended'
}

type SourceWarnings = {
  readonly record: (outcome: CallOutcome) => void
  readonly list: () => WarningReason[]
}

type WarningOptions = {
  readonly onEvent?: ((event: WarningEvent) => void) | undefined
  readonly now?: () => number
}

const REPEAT_MS = 5 * MINUTE_MS
/** The share is taken over this many answers, not over a time: some servers make few calls. */
const ANSWERS = 50
const MIN_ANSWERS = 20
const SUSPICIOUS_SHARE = 0.95
/** Lower than the share at which the warning starts, so that it does not flap. */
const SOUND_SHARE = 0.9

const REASONS: Partial<Record<SourceProblem, WarningReason>> = {
  funds: 'no_funds',
  credentials: 'credentials_refused',
  unknown_account: 'credentials_refused',
  unknown_path: 'unknown_path',
  unlisted: 'unlisted_answer',
  contradictory: 'unlisted_answer',
  rejected: 'question_rejected',
  no_phone: 'unreadable_phone',
  unreadable_phone: 'unreadable_phone',
  mixed_phones: 'unreadable_phone',
}

export function createSourceWarnings({
  onEvent = () => {},
  now = () => performance.now(),
}: WarningOptions = {}): SourceWarnings {
  /** When each warning was last reported. */
  const active = new Map<WarningReason, number>()
  const seen = new Map<WarningReason, number>()
  const share = createNotFoundShare()
  const start = (reason: WarningReason) => {
    seen.set(reason, now())
    const reportedAt = active.get(reason)
    if (reportedAt !== undefined && now() - reportedAt < REPEAT_MS) return
    active.set(reason, now())
    onEvent({ reason, state: reportedAt === undefined ? 'started' : 'continues' })
  }
  const end = (reason: WarningReason) => {
    if (active.delete(reason)) onEvent({ reason, state: 'ended' })
  }
  const recordAnswer = (isFound: boolean) => {
    for (const reason of LASTING_WARNINGS) end(reason)
    for (const reason of OCCASIONAL) if (now() - (seen.get(reason) ?? 0) >= REPEAT_MS) end(reason)
    const notFoundShare = share.add(isFound)
    if (notFoundShare >= SUSPICIOUS_SHARE) start('mostly_not_found')
    else if (notFoundShare < SOUND_SHARE) end('mostly_not_found')
  }
  return {
    record: (outcome) => {
      if (!(outcome instanceof SourceError)) return recordAnswer(outcome === 'found')
      const reason = outcome.problem && REASONS[outcome.problem]
      if (reason) start(reason)
    },
    list: () => [...active.keys()],
  }
}

/** The share of the last answers that found no record; 0 while there are too few. */
function createNotFoundShare() {
  const answers = new Uint8Array(ANSWERS)
  let count = 0
  let notFound = 0
  return {
    add: (isFound: boolean): number => {
      const slot = count % ANSWERS
      notFound += (isFound ? 0 : 1) - (answers[slot] as number)
      answers[slot] = isFound ? 0 : 1
      count += 1
      return count < MIN_ANSWERS ? 0 : notFound / Math.min(count, ANSWERS)
    },
  }
}
