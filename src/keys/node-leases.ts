import { setTimeout as pause } from 'node:timers/promises'
import { steadyNow } from '../contract/time.ts'
import { createBoundedMap } from './bounded-map.ts'
import type { Allowance, RateLimit } from './rate-limit.ts'
import type { RateLease, RateTable, UnusedLease } from './rate-table.ts'

type NodeRateLimit = RateLimit & {
  /** Gives back what no request has used since the last call. Called every second. */
  readonly giveBack: () => Promise<void>
  readonly close: () => void
}

type Options = {
  readonly limit: number
  readonly table: Pick<RateTable, 'lease' | 'giveBack'>
  /** Server processes on the database, as last known. */
  readonly countProcesses: () => number
  /** Monotonic. */
  readonly now?: () => number
}

/** Unused leases of all processes together are at most one part in this many of the limit. */
const UNUSED_PART = 20
/** While the database does not answer, all processes together allow one part in this many of the limit in a minute. */
const ASSUMED_PART = 10
const WINDOW_MS = 60_000
const GIVE_BACK_MS = 1000
/** After a refusal, and while the database does not answer. */
const ASK_AGAIN_MS = 1000
/** A request waits for a lease at most this long. */
export const LEASE_WAIT_MS = 500
const MAX_KEYS = 200_000

/** What this process may still answer in the minute of a key. */
type Held = {
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
export function createNodeRateLimit(options: Options): NodeRateLimit {
  const { limit, table, countProcesses, now = () => performance.now() } = options
  // Whole milliseconds, for the same reason as in createWindows.
  const readClock = () => Math.floor(now())
  const held = createBoundedMap<string, Held>(MAX_KEYS)
  const pending = new Map<string, Promise<void>>()
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
      const taken = takeHeld(held.get(key), readClock())
      if (taken) return taken
    }
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
    take: (key) => takeHeld(held.get(key), readClock()) ?? takeLeased(key),
    giveBack,
    close: () => clearInterval(timer),
  }
}

const toHeld = ({ tokens, left, endsInMs, endsAt }: RateLease, portion: number, at: number): Held => ({
  ...{ tokens, left, portion, window: endsAt, endsAt: at + endsInMs },
  ...{ owed: 0, isUsed: true, askAgainAt: tokens === 0 ? at + ASK_AGAIN_MS : 0 },
})

/** The share of one process of what may be assumed in a minute. Afterwards nothing is left to be assumed again. */
function assumeShare(running: Held | undefined, limit: number, processes: number, at: number): Held {
  const share = Math.floor(limit / (ASSUMED_PART * processes))
  return {
    ...{ tokens: Math.min(share, running?.left ?? share), left: 0, portion: 1, window: undefined },
    ...{ endsAt: running?.endsAt ?? at + WINDOW_MS, owed: running?.owed ?? 0 },
    ...{ isUsed: true, askAgainAt: at + ASK_AGAIN_MS },
  }
}

/** Undefined when another lease is needed first. */
function takeHeld(held: Held | undefined, at: number): Allowance | undefined {
  if (!held || held.endsAt <= at || (held.tokens === 0 && held.askAgainAt <= at)) return undefined
  const allowed = held.tokens > 0
  if (allowed) {
    held.tokens -= 1
    held.isUsed = true
    if (held.window === undefined) held.owed += 1
  }
  // The database may answer again long before the minute ends.
  const until = held.window === undefined ? Math.max(held.askAgainAt, at) : held.endsAt
  const resetS = Math.max(1, Math.ceil((until - at) / 1000))
  return { allowed, remaining: held.left + held.tokens, resetS }
}

/** A lease from which no request was answered since the last call is taken back. */
function takeIdle(
  held: Held | undefined,
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
