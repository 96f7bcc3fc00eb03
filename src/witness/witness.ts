import { setTimeout as pause } from 'node:timers/promises'
import { steadyNow } from '../contract/time.ts'
import type { WitnessTable } from '../store/witness-table.ts'
import type { Log } from '../telemetry/log.ts'
import { startPoll } from '../webhooks/poll.ts'
import { openDestination } from './destination.ts'
import { toShownTarget, toTargetId, type WitnessTarget } from './target.ts'

type WitnessOptions = {
  readonly table: WitnessTable
  readonly target: WitnessTarget
  /** The setting TABBAT_WEBHOOKS_PRIVATE. */
  readonly allowPrivate: boolean
  /** The name of this process. */
  readonly holder: string
  readonly log: Pick<Log, 'event'>
  /** Shorter in tests. */
  readonly pollMs?: number
}

export type Witness = {
  /** After the last checkpoint was made: sends what is left, for a short time. */
  readonly close: () => Promise<void>
}

const POLL_MS = 2000
/** A process that dies delays the next sender by this much. */
const LEASE_MS = 60_000
const ATTEMPT_MS = 20_000
const LONGEST_PAUSE_MS = 5 * 60_000
const LAST_ATTEMPT_MS = 3000
const CLOSE_MS = 1000
/** Checkpoints of this time may still appear in the database after younger ones: clocks differ. */
const RECENT_MS = 10 * 60_000

export const toRecent = (now = steadyNow()): string => new Date(now - RECENT_MS).toISOString()

/**
 * Sends the checkpoints of all nodes to the witness, in order, by one process at a time. The database holds them until the
 * witness has accepted them. Verifications never wait for it.
 */
export function openWitness(options: WitnessOptions): Witness {
  const { table, holder, pollMs = POLL_MS } = options
  const target = toTargetId(options.target)
  const destination = openDestination(options.target, options.allowPrivate)
  const ending = new AbortController()
  const report = createReport(options)
  let heldUntil = 0
  let failures = 0
  let notBefore = 0

  /** Renewed after half of its time. */
  const claim = async () => {
    const now = steadyNow()
    if (heldUntil - now > LEASE_MS / 2) return true
    const isHolder = await table.claim({ target, holder, now, until: now + LEASE_MS })
    heldUntil = isHolder ? now + LEASE_MS : 0
    return isHolder
  }
  const sendAll = async () => {
    while (!ending.signal.aborted && (await claim())) {
      const unsent = await table.listUnsent(target, toRecent(), destination.most)
      if (unsent.length === 0) return
      await destination.append(unsent, AbortSignal.any([ending.signal, AbortSignal.timeout(ATTEMPT_MS)]))
      await table.markSent(target, unsent, toRecent(), steadyNow())
      failures = 0
      report.sent()
    }
  }
  const run = async () => {
    if (performance.now() < notBefore) return
    try {
      await sendAll()
    } catch (error) {
      failures += 1
      notBefore = performance.now() + Math.min(pollMs * 2 ** failures, LONGEST_PAUSE_MS)
      if (ending.signal.aborted) return
      const reason = toReason(error)
      report.failed(reason)
      await table.markFailed(target, reason, steadyNow())
    }
  }
  const poll = startPoll(run, pollMs)
  poll.now()
  return {
    close: async () => {
      await within(LAST_ATTEMPT_MS, async () => {
        await poll.close()
        notBefore = 0
        await run()
      })
      ending.abort()
      if (heldUntil > 0) await table.release(target, holder).catch(() => {})
      await within(CLOSE_MS, destination.close)
    },
  }
}

/** A witness that does not answer must not delay the shutdown. */
const within = (ms: number, work: () => Promise<void>) =>
  Promise.race([work().catch(() => {}), pause(ms, undefined, { ref: false })])

/** Logs the first failure and the first success after it. */
function createReport({ log, target }: WitnessOptions) {
  const witness = toShownTarget(target)
  let isFailing = false
  return {
    failed: (reason: string) => {
      if (!isFailing) log.event('warn', 'witness_failed', { witness, reason })
      isFailing = true
    },
    sent: () => {
      if (isFailing) log.event('info', 'witness_recovered', { witness })
      isFailing = false
    },
  }
}

/** A code. Messages may hold addresses and credentials. */
function toReason(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return typeof code === 'string' && /^[\w .-]{1,60}$/.test(code) ? code : String(name ?? 'Error')
}
