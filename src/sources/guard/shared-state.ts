import { DAY_MS, steadyNow, toLagosDate, toLagosDay } from '../../contract/time.ts'
import type { SourceOrderTable } from '../source-order.ts'
import type { SourceTable, Spent } from '../source-table.ts'
import { REFUND_DAYS, type SpendLeases } from '../spend-leases.ts'
import type { CallGuard, SharedState } from './call-guard.ts'

/** How often a node reads the kill switches and the order. */
const POLL_MS = 2000
/** How often a node publishes an unchanged state, to show that it is alive. */
const PUBLISH_MS = 10_000
/** How often a node gives back the money that it has leased and does not use. */
const RELEASE_MS = 10_000
/** A node whose state is older than this is no longer running. */
export const STATE_LIFE_MS = 30_000
const KEEP_DAYS = 400
/** For the usage of keys. */
const KEEP_KEY_DAYS = 800

type StoredSharedState = SharedState & {
  /** The order of the sources that replaces that of the settings, if there is one. */
  readonly order: (kind: string) => readonly string[] | undefined
  /** Reads the switches and publishes the states of the guards now, and then every two seconds until it is closed. */
  readonly watch: (guards: readonly CallGuard[]) => Promise<void>
  /** When the switches were last read, on the monotonic clock. */
  readonly learntAt: () => number
  readonly listSpend: () => Promise<Spent[]>
  readonly deleteExpired: () => Promise<void>
  /** Removes the states of this node. */
  readonly close: () => Promise<void>
}

type Options = {
  readonly table: SourceTable
  /** Only a server that calls the sources in order reads it. */
  readonly orders?: Pick<SourceOrderTable, 'list'>
  /** Those that are idle are given back. */
  readonly leases: Pick<SpendLeases, 'releaseIdle'>
  readonly node: string
  readonly now?: () => number
}

/** Kill switches, order and states of the sources, shared by all nodes through the store. */
export function createSharedState(options: Options): StoredSharedState {
  const { table, orders, leases, node, now = steadyNow } = options
  let disabled: ReadonlySet<string> = new Set()
  let order: ReadonlyMap<string, readonly string[]> = new Map()
  /** Without a guard there is nothing to learn. */
  let learntAt = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let polling: Promise<void> | undefined
  let published = ''
  let publishedAt = Number.NEGATIVE_INFINITY
  let releasedAt = performance.now()

  const publish = async (guards: readonly CallGuard[]) => {
    const states = guards.map((guard) => JSON.stringify(guard.read()))
    const [at, startedAt] = [now(), performance.now()]
    if (published === states.join() && startedAt - publishedAt < PUBLISH_MS) return
    await table.publish(
      guards.map(({ name, operation }, index) => ({ node, name, operation, state: states[index] ?? '', at })),
    )
    published = states.join()
    publishedAt = startedAt
  }
  const poll = async (guards: readonly CallGuard[]) => {
    const startedAt = performance.now()
    disabled = new Set(await table.listDisabled())
    if (orders) order = new Map((await orders.list()).map(({ kind, names }) => [kind, names]))
    learntAt = startedAt
    await publish(guards)
    if (startedAt - releasedAt < RELEASE_MS) return
    releasedAt = startedAt
    await leases.releaseIdle()
  }
  const watch = async (guards: readonly CallGuard[]) => {
    if (guards.length === 0) return
    polling = poll(guards)
    await polling
    const again = () => {
      // Store unavailable; the last known switches stay in force.
      if (!closed)
        polling = poll(guards)
          .catch(() => {})
          .finally(schedule)
    }
    const schedule = () => {
      if (!closed) timer = setTimeout(again, POLL_MS).unref()
    }
    schedule()
  }

  return {
    isDisabled: (name) => disabled.has(name),
    order: (kind) => order.get(kind),
    watch,
    learntAt: () => learntAt,
    listSpend: () => table.listSpend(toLagosDay(now())),
    deleteExpired: () => {
      const today = toLagosDay(now())
      return table.deleteExpired({
        states: now() - STATE_LIFE_MS,
        spendDay: today - KEEP_DAYS,
        refundDay: today - REFUND_DAYS,
        month: toMonth(now() - KEEP_KEY_DAYS * DAY_MS),
      })
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      if (!polling) return
      // After a restart, the old state must not be reported.
      await polling.catch(() => {})
      await table.retire(node).catch(() => {})
    },
  }
}

let month = { day: Number.NaN, name: '' }

/** The month in Lagos: 2026-11. The last one is remembered, because every paid call needs it. */
export function toMonth(at: number): string {
  const day = toLagosDay(at)
  if (month.day !== day) month = { day, name: toLagosDate(at).slice(0, 'yyyy-mm'.length) }
  return month.name
}
