import { randomUUID } from 'node:crypto'
import { DAY_MS, steadyNow, toLagosDate, toLagosDay } from '../../contract/time.ts'
import type { SourceOrderTable } from '../source-order.ts'
import type { Refund, SourceTable, Spent } from '../source-table.ts'
import type { CallGuard, PaidCalls, SharedState } from './call-guard.ts'

/** The price of one call and the daily cap of each source, in kobo. */
export type Prices = Readonly<
  Record<string, { readonly price: number; readonly dailyCap: number | undefined }>
>

/** How often a node reads the kill switches and the order. */
const POLL_MS = 2000
/** How often a node publishes an unchanged state, to show that it is alive. */
const PUBLISH_MS = 10_000
/** A node whose state is older than this is no longer running. */
export const STATE_LIFE_MS = 30_000
const KEEP_DAYS = 400
/** For the usage of keys. */
const KEEP_KEY_DAYS = 800

/** How long a paid call counts against its Idempotency-Key. */
const PAID_CALLS_MS = DAY_MS

type StoredSharedState = SharedState & {
  /** The order of the sources that replaces that of the settings, if there is one. */
  readonly order: (kind: string) => readonly string[] | undefined
  /** Reads the switches and publishes the states of the guards now, and then every two seconds until it is closed. */
  readonly watch: (guards: readonly CallGuard[]) => Promise<void>
  /** When the switches were last read, on the monotonic clock. */
  readonly learntAt: () => number
  readonly listSpend: () => Promise<Spent[]>
  readonly deleteExpired: () => Promise<void>
  /** Also writes pending refunds and removes the states of this node. */
  readonly close: () => Promise<void>
}

type Options = {
  readonly table: SourceTable
  /** Only a server that calls the sources in order reads it. */
  readonly orders?: Pick<SourceOrderTable, 'list'>
  readonly prices: Prices
  readonly node: string
  readonly now?: () => number
}

/** Kill switches, spend and states of the sources, shared by all nodes through the store. */
export function createSharedState(options: Options): StoredSharedState {
  const { table, orders, prices, node, now = steadyNow } = options
  let disabled: ReadonlySet<string> = new Set()
  let order: ReadonlyMap<string, readonly string[]> = new Map()
  /** Without a guard there is nothing to learn. */
  let learntAt = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let polling: Promise<void> | undefined
  let published = ''
  let publishedAt = Number.NEGATIVE_INFINITY
  const refunds = createRefunds(table, () => toLagosDay(now()))

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
    spend: createSpend(table, prices, refunds, now),
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
      await refunds.close()
      if (!polling) return
      // After a restart, the old state must not be reported.
      await polling.catch(() => {})
      await table.retire(node).catch(() => {})
    },
  }
}

const toMonth = (at: number) => toLagosDate(at).slice(0, 'yyyy-mm'.length)

function createSpend(
  table: SourceTable,
  prices: Prices,
  refunds: Refunds,
  now: () => number,
): SharedState['spend'] {
  return async (name, paidCalls, keyId) => {
    refunds.retry()
    const { price, dailyCap } = prices[name] ?? { price: 0, dailyCap: undefined }
    const key = keyId === undefined ? undefined : { id: keyId, month: toMonth(now()) }
    const call = { id: randomUUID(), name, day: toLagosDay(now()), kobo: price, key }
    const admission = await table.spend({
      ...call,
      capKobo: dailyCap ?? null,
      paidCall: paidCalls && toPaidCall(paidCalls, now()),
    })
    if (admission !== 'admitted') return admission
    if (!paidCalls) return { refund: () => refunds.give(call) }
    paidCalls.used += 1
    return {
      refund: async () => {
        paidCalls.used -= 1
        const work = refunds.give({ ...call, payer: paidCalls.payer })
        paidCalls.refunds.push(work)
        await work
      },
    }
  }
}

const toPaidCall = ({ payer, most }: PaidCalls, at: number) => ({
  payer,
  most,
  expiresAt: at + PAID_CALLS_MS,
})

/** Writes refunds of spend in the background. A refund that cannot be written is kept and retried with the next call. */
type Refunds = {
  /** Never fails. */
  readonly give: (refund: Refund) => Promise<void>
  /** Starts to write the pending refunds. */
  readonly retry: () => void
  /** Tries to write the pending refunds once more. */
  readonly close: () => Promise<void>
}

/** The ids of refunds are kept this long. An older refund is not retried: its id may have been deleted, and it would count twice. */
const REFUND_DAYS = 7

function createRefunds(table: Pick<SourceTable, 'refund'>, today: () => number): Refunds {
  let pending: Refund[] = []
  const writing = new Set<Promise<void>>()

  const give = async (refund: Refund): Promise<void> => {
    const work = table.refund(refund).catch(() => {
      // It may have been written, with only the confirmation lost. The id prevents counting it twice.
      pending.push(refund)
    })
    writing.add(work)
    await work
    writing.delete(work)
  }
  const retry = () => {
    const refunds = pending.filter(({ day }) => day > today() - REFUND_DAYS)
    pending = []
    for (const refund of refunds) void give(refund)
  }
  return {
    give,
    retry,
    close: async () => {
      await Promise.all(writing)
      retry()
      await Promise.all(writing)
    },
  }
}
