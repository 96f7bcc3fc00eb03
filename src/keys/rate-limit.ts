import cluster from 'node:cluster'
import { setTimeout as pause } from 'node:timers/promises'
import { steadyNow } from '../contract/time.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import { createBoundedMap } from './bounded-map.ts'
import { type RateLease, type RateTable, type UnusedLease, WINDOW_MS } from './rate-table.ts'
import type { KeySettings } from './settings.ts'

/** What is left of the limit of a key in its current minute. */
export type Allowance = { readonly allowed: boolean; readonly remaining: number; readonly resetS: number }

export type RateLimit = {
  readonly limit: number
  readonly take: (key: string) => Allowance | Promise<Allowance>
  readonly close?: () => void
}

/** On PostgreSQL all processes share a limit. On SQLite, with several workers, the primary process counts for all of them. */
export function openRateLimit(
  config: Pick<KeySettings, 'rateLimit'> & Pick<DatabaseSettings, 'databaseUrl'>,
  { rates }: { readonly rates: RateTable },
  { countProcesses }: { readonly countProcesses: () => number },
): RateLimit | undefined {
  const { rateLimit, databaseUrl } = config
  if (rateLimit === 'off') return undefined
  if (databaseUrl !== undefined)
    return createNodeRateLimit({ limit: rateLimit, table: rates, countProcesses })
  return cluster.isWorker ? createLeasedRateLimit(rateLimit) : createRateLimit(rateLimit)
}

/** Requests granted from a minute, how many are left in it, and when it ends. */
type Lease = { readonly tokens: number; readonly left: number; readonly endsInMs: number }

type Windows = { readonly take: (key: string, wanted: number) => Lease }

const MAX_KEYS = 200_000
/** Unused leases of all processes together are at most one part in this many of the limit. */
const UNUSED_PART = 20

const toSeconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000))

/** Requests per key in a minute that starts with the key's first request. Held in memory. */
export function createWindows(limit: number, now = () => performance.now()): Windows {
  const windows = createBoundedMap<string, { used: number; endsAt: number }>(MAX_KEYS)
  const open = (key: string, at: number) => {
    const window = { used: 0, endsAt: at + WINDOW_MS }
    windows.set(key, window)
    return window
  }
  return {
    take: (key, wanted) => {
      // Whole milliseconds: the sum of fractions would be rounded, and a new window would end in 61 seconds.
      const at = Math.floor(now())
      const known = windows.get(key)
      const window = known && known.endsAt > at ? known : open(key, at)
      const tokens = Math.min(wanted, limit - window.used)
      window.used += tokens
      return { tokens, left: limit - window.used, endsInMs: window.endsAt - at }
    },
  }
}

/** For one process. */
export function createRateLimit(limit: number, now = () => performance.now()) {
  const windows = createWindows(limit, now)
  return {
    limit,
    take: (key: string): Allowance => {
      const { tokens, left, endsInMs } = windows.take(key, 1)
      return { allowed: tokens === 1, remaining: left, resetS: toSeconds(endsInMs) }
    },
  }
}

/** Takes from what is held. A request that finds nothing waits for a lease, which all requests of the key share. */
function createLeasedTake(
  takeHeld: (key: string) => Allowance | undefined,
  lease: (key: string) => Promise<void>,
): RateLimit['take'] {
  const pending = new Map<string, Promise<void>>()
  const leaseOnce = (key: string): Promise<void> => {
    const known = pending.get(key)
    if (known) return known
    const work = lease(key).finally(() => pending.delete(key))
    pending.set(key, work)
    return work
  }
  const takeLeased = async (key: string) => {
    for (;;) {
      await leaseOnce(key)
      const taken = takeHeld(key)
      if (taken) return taken
    }
  }
  return (key) => takeHeld(key) ?? takeLeased(key)
}

/** Messages between the workers and the primary process about the rate limit. */
type LeaseMessage =
  | { readonly lease: 'request'; readonly id: number; readonly key: string }
  | { readonly lease: 'granted'; readonly id: number; readonly granted: Lease }

/** In the primary process: counts the requests of all workers, in leases of several requests. */
export function relayLeases(limit: number, workers: number): void {
  const windows = createWindows(limit)
  const batch = Math.max(1, Math.floor(limit / (UNUSED_PART * workers)))
  cluster.on('message', (worker, message: LeaseMessage) => {
    if (message?.lease !== 'request' || !worker.isConnected()) return
    worker.send({ lease: 'granted', id: message.id, granted: windows.take(message.key, batch) })
  })
}

type HeldByWorker = { tokens: number; readonly left: number; readonly endsAt: number }

/**
 * In a worker: one limit for all workers together. Most requests are counted here; a request without a lease waits for the
 * next one. A key never gets more than the limit. A key that uses several workers may get up to a twentieth less.
 */
export function createLeasedRateLimit(
  limit: number,
  requestLease = createLeaseRequest(),
  now = () => performance.now(),
): RateLimit {
  // Whole milliseconds, for the same reason as in createWindows.
  const readClock = () => Math.floor(now())
  const held = createBoundedMap<string, HeldByWorker>(MAX_KEYS)
  const lease = async (key: string) => {
    const { tokens, left, endsInMs } = await requestLease(key)
    held.set(key, { tokens, left, endsAt: readClock() + endsInMs })
  }
  const takeHeld = (key: string) => {
    const known = held.get(key)
    const at = readClock()
    if (!known || known.endsAt <= at) return undefined
    if (known.tokens === 0 && known.left > 0) return undefined
    const allowed = known.tokens > 0
    if (allowed) known.tokens -= 1
    return { allowed, remaining: known.left + known.tokens, resetS: toSeconds(known.endsAt - at) }
  }
  return { limit, take: createLeasedTake(takeHeld, lease) }
}

function createLeaseRequest(): (key: string) => Promise<Lease> {
  const waiting = new Map<number, (granted: Lease) => void>()
  let requested = 0
  process.on('message', (message: LeaseMessage) => {
    if (message?.lease !== 'granted') return
    waiting.get(message.id)?.(message.granted)
    waiting.delete(message.id)
  })
  return (key) =>
    new Promise((resolve) => {
      const id = ++requested
      waiting.set(id, resolve)
      process.send?.({ lease: 'request', id, key })
    })
}

type NodeRateLimit = RateLimit & {
  /** Gives back what no request has used since the last call. Called every second. */
  readonly giveBack: () => Promise<void>
  readonly close: () => void
}

type NodeOptions = {
  readonly limit: number
  readonly table: Pick<RateTable, 'lease' | 'giveBack'>
  /** Server processes on the database, as last known. */
  readonly countProcesses: () => number
  /** Monotonic. */
  readonly now?: () => number
}

/** While the database does not answer, all processes together allow one part in this many of the limit in a minute. */
const ASSUMED_PART = 10
const GIVE_BACK_MS = 1000
/** After a refusal, and while the database does not answer. */
const ASK_AGAIN_MS = 1000
/** A request waits for a lease at most this long. */
export const LEASE_WAIT_MS = 500

/** What this process may still answer in the minute of a key. */
type HeldByNode = {
  tokens: number
  /** Left for all processes when it was leased. */
  left: number
  readonly endsAt: number
  /** Undefined when the database did not answer, and a share is assumed. */
  readonly window: number | undefined
  portion: number
  /** Requests answered on the assumed share. */
  owed: number
  isUsed: boolean
  readonly askAgainAt: number
}

/**
 * One limit for all processes on one PostgreSQL. A process leases requests in portions, which double while they are used up,
 * and gives back what it does not use for a second. Most requests are counted in memory; one that finds its portion used up
 * waits for the next. A key never gets more than the limit. If its requests reach several processes, it may get a twentieth
 * less. While the database does not answer, a process cannot know what others have leased: all of them together allow a tenth of
 * the limit, so a key gets at most 1.1 times the limit.
 */
export function createNodeRateLimit(options: NodeOptions): NodeRateLimit {
  const { limit, table, countProcesses, now = () => performance.now() } = options
  // Whole milliseconds, for the same reason as in createWindows.
  const readClock = () => Math.floor(now())
  const held = createBoundedMap<string, HeldByNode>(MAX_KEYS)
  /** Keys with a lease that may be unused. */
  const active = new Set<string>()

  const lease = async (key: string) => {
    const before = held.get(key)
    const running = before && before.endsAt > readClock() ? before : undefined
    const most = Math.max(1, Math.floor(limit / (UNUSED_PART * countProcesses())))
    const portion = Math.min(most, before ? before.portion * 2 : 1)
    const request = { keyId: key, limit, wanted: portion, owed: running?.owed ?? 0 }
    const granted = await Promise.race([
      table.lease(request, steadyNow()).catch(() => undefined),
      pause(LEASE_WAIT_MS, undefined, { ref: false }),
    ])
    const at = readClock()
    held.set(key, granted ? toHeld(granted, portion, at) : assumeShare(running, limit, countProcesses(), at))
    if (granted) active.add(key)
  }
  const giveBack = async () => {
    const unused: UnusedLease[] = []
    for (const keyId of active) {
      const { isIdle, lease: idle } = takeIdle(held.get(keyId), readClock())
      if (isIdle) active.delete(keyId)
      if (idle) unused.push({ keyId, ...idle })
    }
    // What cannot be given back is lost until the end of its minute.
    if (unused.length > 0) await table.giveBack(unused).catch(() => {})
  }
  const timer = setInterval(() => void giveBack(), GIVE_BACK_MS).unref()
  return {
    limit,
    take: createLeasedTake((key) => takeHeld(held.get(key), readClock()), lease),
    giveBack,
    close: () => clearInterval(timer),
  }
}

const toHeld = ({ tokens, left, endsInMs, endsAt }: RateLease, portion: number, at: number): HeldByNode => ({
  tokens,
  left,
  portion,
  window: endsAt,
  endsAt: at + endsInMs,
  owed: 0,
  isUsed: true,
  askAgainAt: tokens === 0 ? at + ASK_AGAIN_MS : 0,
})

/** The share of one process of what may be assumed in a minute. Afterwards nothing is left to be assumed again. */
function assumeShare(
  running: HeldByNode | undefined,
  limit: number,
  processes: number,
  at: number,
): HeldByNode {
  const share = Math.floor(limit / (ASSUMED_PART * processes))
  return {
    tokens: Math.min(share, running?.left ?? share),
    left: 0,
    portion: 1,
    window: undefined,
    endsAt: running?.endsAt ?? at + WINDOW_MS,
    owed: running?.owed ?? 0,
    isUsed: true,
    askAgainAt: at + ASK_AGAIN_MS,
  }
}

/** Undefined when another lease is needed first. */
function takeHeld(held: HeldByNode | undefined, at: number): Allowance | undefined {
  if (!held || held.endsAt <= at || (held.tokens === 0 && held.askAgainAt <= at)) return undefined
  const allowed = held.tokens > 0
  if (allowed) {
    held.tokens -= 1
    held.isUsed = true
    if (held.window === undefined) held.owed += 1
  }
  // The database may answer again long before the minute ends.
  const until = held.window === undefined ? Math.max(held.askAgainAt, at) : held.endsAt
  return { allowed, remaining: held.left + held.tokens, resetS: toSeconds(until - at) }
}

/** A lease from which no request was answered since the last call is taken back. */
function takeIdle(
  held: HeldByNode | undefined,
  at: number,
): { readonly isIdle: boolean; readonly lease?: Omit<UnusedLease, 'keyId'> } {
  if (!held || held.endsAt <= at || held.tokens === 0 || held.window === undefined) return { isIdle: true }
  const { tokens, isUsed, window } = held
  held.isUsed = false
  if (isUsed) return { isIdle: false }
  held.tokens = 0
  held.left += tokens
  held.portion = 1
  return { isIdle: true, lease: { endsAt: window, tokens } }
}
