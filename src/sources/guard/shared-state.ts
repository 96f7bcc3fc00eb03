import { randomUUID } from 'node:crypto'
import { DAY_MS, steadyNow, toLagosDay } from '../../contract/time.ts'
import type { SourceTable, Spent } from '../../store/source-table.ts'
import type { CallGuard, PaidCalls, SharedState } from './call-guard.ts'
import { createRefunds, REFUND_DAYS, type Refunds } from './refunds.ts'

/** What one call of a source costs, and how much a day may cost. Kobo. */
export type Prices = Readonly<
  Record<string, { readonly price: number; readonly dailyCap: number | undefined }>
>

/** How often a node looks whether a source was switched off, and tells how its own are doing. */
const LOOK_EVERY_MS = 2000
const TELL_EVERY_MS = 10_000
/** States older than this are of nodes that are gone. */
export const STATE_LIFE_MS = 30_000
const KEEP_DAYS = 400

/** So long a paid call counts against its Idempotency-Key. */
const PAID_CALLS_MS = DAY_MS

export type StoredSharedState = SharedState & {
  /** Looks at once, and then every two seconds, until it is closed. */
  readonly watch: (guards: readonly CallGuard[]) => Promise<void>
  readonly listSpend: () => Promise<Spent[]>
  readonly forget: () => Promise<void>
  /** Also writes what is still owed, and takes back what was told of this node. */
  readonly close: () => Promise<void>
}

type Options = {
  readonly table: SourceTable
  readonly prices: Prices
  readonly node: string
  readonly now?: () => number
}

/** Switches, spend and states, the same for all nodes because they lie in the store. */
export function createSharedState({ table, prices, node, now = steadyNow }: Options): StoredSharedState {
  let disabled: ReadonlySet<string> = new Set()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let looking: Promise<void> | undefined
  let told = ''
  let toldAt = Number.NEGATIVE_INFINITY
  const refunds = createRefunds(table, () => toLagosDay(now()))

  /** Tells how the sources are doing, when that has changed, and now and then that this node is still there. */
  const publish = async (guards: readonly CallGuard[]) => {
    const states = guards.map((post) => JSON.stringify(post.read()))
    const [at, tellingAt] = [now(), performance.now()]
    if (told === states.join() && tellingAt - toldAt < TELL_EVERY_MS) return
    await table.publish(
      guards.map(({ name, operation }, index) => ({ node, name, operation, state: states[index] ?? '', at })),
    )
    told = states.join()
    toldAt = tellingAt
  }
  const look = async (guards: readonly CallGuard[]) => {
    disabled = new Set(await table.listDisabled())
    await publish(guards)
  }
  const watch = async (guards: readonly CallGuard[]) => {
    if (guards.length === 0) return
    looking = look(guards)
    await looking
    const again = () => {
      // A store that is away for a moment says nothing about sources: what was known stays.
      if (!closed)
        looking = look(guards)
          .catch(() => {})
          .finally(schedule)
    }
    const schedule = () => {
      if (!closed) timer = setTimeout(again, LOOK_EVERY_MS).unref()
    }
    schedule()
  }

  return {
    isDisabled: (name) => disabled.has(name),
    spend: createSpend(table, prices, refunds, now),
    watch,
    listSpend: () => table.listSpend(toLagosDay(now())),
    forget: () => {
      const today = toLagosDay(now())
      return table.forget({
        states: now() - STATE_LIFE_MS,
        spendDay: today - KEEP_DAYS,
        refundDay: today - REFUND_DAYS,
      })
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      await refunds.close()
      if (!looking) return
      // Whoever looks after a restart must not find the troubles of before.
      await looking.catch(() => {})
      await table.retire(node).catch(() => {})
    },
  }
}

function createSpend(
  table: SourceTable,
  prices: Prices,
  refunds: Refunds,
  now: () => number,
): SharedState['spend'] {
  return async (name, paidCalls) => {
    refunds.retry()
    const { price, dailyCap } = prices[name] ?? { price: 0, dailyCap: undefined }
    const wish = { id: randomUUID(), name, day: toLagosDay(now()), kobo: price }
    const admission = await table.spend({
      ...wish,
      capKobo: dailyCap ?? null,
      paidCall: paidCalls && toPaidCall(paidCalls, now()),
    })
    if (admission !== 'admitted') return admission
    if (!paidCalls) return { refund: () => refunds.give(wish) }
    paidCalls.used += 1
    return {
      refund: async () => {
        paidCalls.used -= 1
        const work = refunds.give({ ...wish, claim: paidCalls.claim })
        paidCalls.refunds.push(work)
        await work
      },
    }
  }
}

const toPaidCall = ({ claim, most }: PaidCalls, at: number) => ({
  claim,
  most,
  expiresAt: at + PAID_CALLS_MS,
})
