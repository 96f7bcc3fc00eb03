import type { Mode } from '../../contract/scope.ts'
import { MINUTE_MS, steadyNow } from '../../contract/time.ts'
import type { Heads } from '../../ledger/queue-heads.ts'
import type { Claimed, Lane, QueueClass } from '../../ledger/queue-rows.ts'
import type { SourceAttempt } from '../../sources/search.ts'
import type { Sources } from '../../sources/source-chain.ts'
import type { VerificationDeps } from '../verification-deps.ts'
import { attempt } from './attempt.ts'
import { createTurns } from './turns.ts'

/** Works on the queue. Each process has one worker; together they work on one queue. */
type QueueWorker = {
  /** Begins what is due, and returns the time until more is due. `onEnd` is called after each attempt. */
  readonly beginDue: (onEnd?: () => void) => Promise<number>
  /** Resolves when no attempt is running. */
  readonly idle: () => Promise<void>
}

type WorkerOptions = {
  /** Unique among all processes. */
  readonly owner: string
  readonly onFailure: (error: unknown) => void
  /** The clock of the process, which only SQLite uses. */
  readonly now?: () => number
  /** Monotonic. */
  readonly monotonicNow?: () => number
}

/** Longer than any attempt takes. After it, another process may work on the verification. The sandbox answers at once. */
const LEASE_MS: Readonly<Record<Mode, number>> = { live: MINUTE_MS, test: 10_000 }
/** How often the queue is read, for what other processes have added. */
const POLL_MS = 1000
/** Keys that are looked at in one round. More are looked at in the next ones; see also queue-heads.ts. */
const MOST_HEADS = 100
/** Expired verifications at a time. When that many are found, the next are looked for as soon as some of them have ended. */
const MOST_EXPIRED = 200

export const QUEUE_LANES: readonly Lane[] = ['single', 'batch']

export function createQueueWorker(deps: VerificationDeps, options: WorkerOptions): QueueWorker {
  const { owner, onFailure, now = steadyNow, monotonicNow = () => performance.now() } = options
  const { table, settings, pace } = deps.queue
  const availability = createAvailability(deps.sources, monotonicNow)
  const running = new Map<Promise<void>, Claimed>()
  let claims = 0
  /** No key waits for the queue of another one. */
  const turns = { single: createTurns(), batch: createTurns() }
  let lookForExpiredAt = Number.NEGATIVE_INFINITY

  const nextLease = (mode: Mode) => {
    claims += 1
    return { lease: `${owner}:${claims}`, leaseMs: LEASE_MS[mode] }
  }
  /** Those that expire ask no source, so they take no place of those that do. */
  const isExpiring = ({ lifeMs }: Claimed) => lifeMs <= 0
  const countRunning = (is: (claimed: Claimed) => boolean) => [...running.values()].filter(is).length
  const countFree = (lane: Lane) =>
    settings.concurrency[lane] - countRunning((each) => each.lane === lane && !isExpiring(each))
  /** How many verifications of this class the sources can answer now. */
  const mayBegin = ({ mode, operation }: QueueClass) =>
    availability.most({ mode, operation }) -
    countRunning((each) => each.mode === mode && each.operation === operation && !isExpiring(each))
  const begin = (claimed: Claimed, onEnd: () => void) => {
    const endOfPace = claimed.lane === 'single' && !isExpiring(claimed) ? pace.begin() : undefined
    const work = attempt(deps, claimed)
      .then(({ sourceAttempts, bug }) => {
        availability.learn(sourceAttempts)
        if (bug !== undefined) onFailure(bug)
      })
      .catch((error) => {
        // The lease ends, and then another attempt is made.
        onFailure(error)
        deps.audit.reportFailure(error)
      })
      .finally(() => {
        running.delete(work)
        endOfPace?.()
        onEnd()
      })
    running.set(work, claimed)
  }
  const beginExpired = async (onEnd: () => void) => {
    const most = MOST_EXPIRED - countRunning(isExpiring)
    if (most < MOST_EXPIRED / 2 || monotonicNow() < lookForExpiredAt) return
    const expired = await table.claimExpired({ ...nextLease('live'), most }, now())
    lookForExpiredAt = monotonicNow() + (expired.length < most ? POLL_MS : 0)
    for (const claimed of expired) begin(claimed, onEnd)
  }
  /** Begins what is due in a lane, and returns the time until more is due. */
  const beginLane = async (lane: Lane, found: Heads, onEnd: () => void): Promise<number> => {
    if (lane === 'single') pace.look(countDueKeys(found))
    const takes = turns[lane].share(found, countFree(lane), mayBegin)
    for (const take of takes)
      for (const claimed of await table.claim({ ...take, ...nextLease(take.mode) }, now()))
        begin(claimed, onEnd)
    if (takes.length > 0) return 0
    const waiting = found.heads.filter((head) => mayBegin(head) > 0).map(({ dueMs }) => Math.max(dueMs, 0))
    return Math.min(POLL_MS, ...waiting)
  }
  return {
    beginDue: async (onEnd = () => {}) => {
      await beginExpired(onEnd)
      const lanes = QUEUE_LANES.filter((lane) => countFree(lane) > 0)
      if (lanes.length === 0) return POLL_MS
      const wanted = lanes.map((lane) => ({ lane, after: turns[lane].after() }))
      const heads = await table.listHeads(wanted, MOST_HEADS, now())
      let nextMs = POLL_MS
      for (const [index, lane] of lanes.entries())
        nextMs = Math.min(nextMs, await beginLane(lane, heads[index] as Heads, onEnd))
      return nextMs
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running.keys())
    },
  }
}

/** Works until the returned function is called, which resolves when the running attempts have ended. */
export function startQueueWorker(
  deps: VerificationDeps,
  options: WorkerOptions & { readonly isStopping: () => boolean },
): () => Promise<void> {
  const worker = createQueueWorker(deps, options)
  const loop = startLoop(async (wake) => {
    if (options.isStopping() || !deps.audit.isHealthy) return POLL_MS
    return worker.beginDue(wake)
  }, options.onFailure)
  deps.queue.signals.onWake(loop.wake)
  return async () => {
    await loop.close()
    await worker.idle()
  }
}

const countDueKeys = ({ heads, elsewhere }: Heads) =>
  new Set([...heads, ...elsewhere].filter(({ dueMs }) => dueMs <= 0).map(({ lineage }) => lineage)).size

/** How long a source that reached its spend cap is taken to be at it. */
const CAPPED_MS = MINUTE_MS

/** Which classes of verifications can be answered now: no attempt is made that no source could answer. */
type Availability = {
  /** How many attempts may begin now: 0 while no source may be called, 1 to probe one that was down. */
  readonly most: (wanted: Pick<QueueClass, 'mode' | 'operation'>) => number
  /** Learns from an attempt which sources are at their spend caps. */
  readonly learn: (sourceAttempts: readonly SourceAttempt[]) => void
}

function createAvailability(sources: Sources, now: () => number = () => performance.now()): Availability {
  const cappedUntil = new Map<string, number>()
  return {
    most: ({ mode, operation }) => {
      const chain = sources[mode][operation === 'verify_nin' ? 'nin' : 'bvn']
      const guards = chain.flatMap(({ guard }) => guard ?? [])
      // Sources inside this process are always available.
      if (guards.length === 0) return Number.POSITIVE_INFINITY
      const callable = guards.filter(
        (guard) => guard.isAvailable() && (cappedUntil.get(guard.name) ?? 0) <= now(),
      )
      if (callable.length === 0) return 0
      return callable.some((guard) => guard.read().state === 'closed') ? Number.POSITIVE_INFINITY : 1
    },
    learn: (sourceAttempts) => {
      for (const { name, result } of sourceAttempts)
        if (result === 'spend_cap') cappedUntil.set(name, now() + CAPPED_MS)
        else if (result === 'found' || result === 'not_found') cappedUntil.delete(name)
    },
  }
}

type Loop = {
  /** Runs a round soon. */
  readonly wake: () => void
  readonly close: () => Promise<void>
}

/** Between two rounds, also when there is much to do: rounds that are woken often are run together. */
const LEAST_PAUSE_MS = 5
const AFTER_FAILURE_MS = 1000

/** Runs rounds one after another. Each returns the time until the next, unless it is woken sooner. */
function startLoop(round: (wake: () => void) => Promise<number>, onFailure: (error: unknown) => void): Loop {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isWoken = false
  let isClosed = false

  const schedule = (ms: number) => {
    if (isClosed) return
    clearTimeout(timer)
    timer = setTimeout(run, Math.max(ms, LEAST_PAUSE_MS)).unref()
  }
  const wake = () => {
    if (running) isWoken = true
    else schedule(0)
  }
  const run = () => {
    isWoken = false
    running = round(wake)
      .catch((error) => {
        onFailure(error)
        return AFTER_FAILURE_MS
      })
      .then((ms) => {
        running = undefined
        schedule(isWoken ? 0 : ms)
      })
  }
  schedule(0)
  return {
    wake,
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await running
    },
  }
}
