import type { Mode } from '../../contract/scope.ts'
import { MINUTE_MS, steadyNow } from '../../contract/time.ts'
import type { Claimed, Lane, QueueClass, QueueHead } from '../../ledger/queue-rows.ts'
import { type Heads, MAX_LEASE_MS } from '../../ledger/queue-table.ts'
import type { SourceAttempt } from '../../sources/failover.ts'
import type { Sources } from '../../sources/source-chain.ts'
import type { Log } from '../../telemetry/log.ts'
import type { VerificationDeps } from '../verification.ts'
import { attempt } from './attempt.ts'

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
const LEASE_MS: Readonly<Record<Mode, number>> = { live: MAX_LEASE_MS, test: 10_000 }
/** How often the queue is read, for what other processes have added. */
const POLL_MS = 1000
/** Keys that are looked at in one round. More are looked at in the next ones; see also listHeads in queue-table.ts. */
const MAX_HEADS = 100
/** Expired verifications at a time. When that many are found, the next are looked for as soon as some of them have ended. */
const MAX_EXPIRED = 200

export const QUEUE_LANES: readonly Lane[] = ['single', 'batch']

/** Those that expire ask no source, so they take no place of those that do. */
const isExpiring = ({ lifeMs }: Claimed) => lifeMs <= 0

export function createQueueWorker(deps: VerificationDeps, options: WorkerOptions): QueueWorker {
  const { owner, onFailure, now = steadyNow, monotonicNow = () => performance.now() } = options
  const { table, settings, pace } = deps.queue
  const availability = createAvailability(deps.sources, monotonicNow)
  const running = new Map<Promise<void>, Claimed>()
  let claims = 0
  /** No key waits for the queue of another one. */
  const turns = { single: createTurns(), batch: createTurns() }
  let lookForExpiredAt = Number.NEGATIVE_INFINITY

  const nextLease = (mode: Mode) => ({ lease: `${owner}:${++claims}`, leaseMs: LEASE_MS[mode] })
  const countRunning = (is: (claimed: Claimed) => boolean) => [...running.values()].filter(is).length
  const countFree = (lane: Lane) =>
    settings.concurrency[lane] - countRunning((each) => each.lane === lane && !isExpiring(each))
  /** How many verifications of this class the sources can answer now. */
  const mayBegin = ({ mode, operation }: QueueClass) =>
    availability.read({ mode, operation }).most -
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
    const most = MAX_EXPIRED - countRunning(isExpiring)
    if (most < MAX_EXPIRED / 2 || monotonicNow() < lookForExpiredAt) return
    const expired = await table.claimExpired({ ...nextLease('live'), most }, now())
    lookForExpiredAt = monotonicNow() + (expired.length < most ? POLL_MS : 0)
    for (const claimed of expired) begin(claimed, onEnd)
  }
  /** Begins what is due in a lane, and returns the time until more is due. */
  const beginLane = async (lane: Lane, found: Heads, onEnd: () => void): Promise<number> => {
    if (lane === 'single') pace.look(countDueKeys(found))
    const takes = turns[lane].share(found, countFree(lane), mayBegin)
    let nextMs = POLL_MS
    for (const take of takes) {
      const { isFirst } = availability.read(take)
      const taken = await table.claim({ ...take, ...nextLease(take.mode), isFirst }, now())
      for (const claimed of taken) begin(claimed, onEnd)
      // Of first attempts, there may be none among what is due.
      if (!isFirst || taken.length > 0) nextMs = 0
    }
    if (takes.length > 0) return nextMs
    const waiting = found.heads.filter((head) => mayBegin(head) > 0).map(({ dueMs }) => Math.max(dueMs, 0))
    return Math.min(POLL_MS, ...waiting)
  }
  return {
    beginDue: async (onEnd = () => {}) => {
      await beginExpired(onEnd)
      const lanes = QUEUE_LANES.filter((lane) => countFree(lane) > 0)
      if (lanes.length === 0) return POLL_MS
      const wanted = lanes.map((lane) => ({ lane, after: turns[lane].after() }))
      const heads = await table.listHeads(wanted, MAX_HEADS, now())
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

type Running = VerificationDeps & { readonly log: Log; readonly lifecycle: { readonly stopping: boolean } }

/** Works on the queue until the returned function is called. Callers that wait get their 202 then. */
export function startQueue(context: Running): () => Promise<void> {
  const { audit, log, lifecycle, queue } = context
  const worker = createQueueWorker(context, { owner: audit.owner, onFailure: log.failure })
  const loop = startLoop(async (wake) => {
    if (lifecycle.stopping || !audit.isHealthy) return POLL_MS
    return worker.beginDue(wake)
  }, log.failure)
  queue.signals.onWake(loop.wake)
  return async () => {
    queue.signals.close()
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
  readonly read: (wanted: Pick<QueueClass, 'mode' | 'operation'>) => {
    /** How many attempts may begin now: 0 while no source may be called, 1 to probe one that was down. */
    readonly most: number
    /** Only first attempts, while no vendor may be called: the own records may have the answer. A second one would find the same. */
    readonly isFirst: boolean
  }
  /** Learns from an attempt which sources are at their spend caps. */
  readonly learn: (sourceAttempts: readonly SourceAttempt[]) => void
}

const ANY = { most: Number.POSITIVE_INFINITY, isFirst: false }
const FIRST = { most: Number.POSITIVE_INFINITY, isFirst: true }
const PROBE = { most: 1, isFirst: false }
const NONE = { most: 0, isFirst: false }

function createAvailability(sources: Sources, now: () => number = () => performance.now()): Availability {
  const cappedUntil = new Map<string, number>()
  return {
    read: ({ mode, operation }) => {
      const chain = sources[mode][operation === 'verify_nin' ? 'nin' : 'bvn']
      const guards = chain.flatMap(({ guard }) => guard ?? [])
      // Sources inside this process are always available.
      const isOwn = guards.length < chain.length
      if (guards.length === 0) return ANY
      const callable = guards.filter(
        (guard) => guard.isAvailable() && (cappedUntil.get(guard.name) ?? 0) <= now(),
      )
      if (callable.length === 0) return isOwn ? FIRST : NONE
      return callable.some((guard) => guard.read().state === 'closed') ? ANY : PROBE
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

/** What is taken at once: up to `each` verifications of every one of these keys. */
type Take = QueueClass & { readonly keys: readonly string[]; readonly each: number }

/** The turns of the keys in one lane. */
type Turns = {
  /** The key that had the last turn: the next place is for the key after it. */
  readonly after: () => string
  /**
   * Shares free places among the keys with due work: one place for each key in the order of the heads, and as many more for all
   * of them as places are left. `mayBegin` says how many of a class the sources can answer now.
   */
  readonly share: (
    found: Pick<Heads, 'heads'> & Partial<Heads>,
    free: number,
    mayBegin: (wanted: QueueClass) => number,
  ) => Take[]
}

export function createTurns(): Turns {
  let last = ''
  /** Of the keys that were found elsewhere: they have turns of their own, so that the walk over all keys goes on. */
  let lastElsewhere = ''
  /** Of keys with work of several classes, which of them had the last turn: they take turns too. */
  const lastClasses = new Map<string, string>()
  const toOrder = (head: QueueHead) => (lastClasses.get(head.lineage) === toName(head) ? 1 : 0)
  const takeTurn = (ofKey: readonly QueueHead[]) => {
    const [head] = ofKey.toSorted((one, other) => toOrder(one) - toOrder(other) || one.dueMs - other.dueMs)
    if (!head) return undefined
    if (ofKey.length > 1) lastClasses.set(head.lineage, toName(head))
    else lastClasses.delete(head.lineage)
    return head
  }
  return {
    after: () => last,
    share: ({ heads, isPart = false, elsewhere = [] }, free, mayBegin) => {
      const room = new Map<string, number>()
      const readRoom = (head: QueueHead) => room.get(toName(head)) ?? mayBegin(head)
      /** Returns the key of the last place. */
      const takeInTurn = (found: readonly QueueHead[], taken: QueueHead[]): string | undefined => {
        const due = found.filter(({ dueMs }) => dueMs <= 0)
        const before = taken.length
        for (const ofKey of Map.groupBy(due, ({ lineage }) => lineage).values()) {
          if (taken.length >= free) break
          const head = takeTurn(ofKey.filter((each) => readRoom(each) > 0))
          if (!head) continue
          room.set(toName(head), readRoom(head) - 1)
          taken.push(head)
        }
        return taken.length > before ? taken.at(-1)?.lineage : undefined
      }
      const taken: QueueHead[] = []
      last = takeInTurn(heads, taken) ?? last
      if (taken.length < free && isPart) {
        // All that may begin among these keys has a place, so the next ones are looked at.
        last = heads.at(-1)?.lineage ?? last
        const inTurn = Object.groupBy(elsewhere, ({ lineage }) =>
          lineage > lastElsewhere ? 'after' : 'upTo',
        )
        lastElsewhere = takeInTurn([...(inTurn.after ?? []), ...(inTurn.upTo ?? [])], taken) ?? lastElsewhere
      }
      return toTakes(taken, free, mayBegin)
    },
  }
}

function toTakes(
  taken: readonly QueueHead[],
  free: number,
  mayBegin: (wanted: QueueClass) => number,
): Take[] {
  const each = Math.floor(free / Math.max(taken.length, 1))
  const classes = Map.groupBy(taken, toName).values().toArray()
  return classes.map((ofClass) => {
    const { lane, mode, operation } = ofClass[0] as QueueHead
    const most = Math.floor(mayBegin({ lane, mode, operation }) / ofClass.length)
    const keys = ofClass.map(({ lineage }) => lineage)
    return { lane, mode, operation, keys, each: Math.max(1, Math.min(each, most)) }
  })
}

const toName = ({ mode, operation }: QueueClass) => `${mode} ${operation}`
