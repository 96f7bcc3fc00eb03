import { steadyNow, toLagosDay } from '../contract/time.ts'
import type { Kind } from '../crypto/mac.ts'
import type { SourceSettings } from './settings.ts'
import type { LateRefund, SpendTable } from './spend-table.ts'

/** The price of one call and the daily cap of a source, in kobo. */
type Price = {
  readonly price: number
  /** Where an operation has a price of its own. */
  readonly prices?: Readonly<Partial<Record<Kind, number | undefined>>>
  readonly dailyCap: number | undefined
}
export type Prices = Readonly<Record<string, Price>>

/** The prices and the daily cap of each vendor. Bundle lists are free. */
export const toPrices = ({ vendors }: Pick<SourceSettings, 'vendors'>): Prices =>
  Object.fromEntries(
    Object.entries(vendors).map(([name, { price = 0, prices, dailyCap }]) => [
      name,
      { price, prices, dailyCap },
    ]),
  )

/** In kobo; zero for a source without a price. */
export const priceOf = (price: Omit<Price, 'dailyCap'> | undefined, kind: Kind | undefined): number =>
  (kind && price?.prices?.[kind]) ?? price?.price ?? 0

/** The price of one call, which is written as spent in the commit before the call. */
export type Money = {
  readonly name: string
  readonly day: number
  /** The process that spends it. */
  readonly node: string
  readonly kobo: number
  /** Whether the commit checks the lease. */
  readonly isCapped: boolean
}

/**
 * The part of the daily caps that this process may spend. A call takes its price here, without a round trip while the lease lasts, and
 * the commit before the call checks it again: a lease may have been taken back from a process that seemed dead. All nodes together
 * never exceed a cap.
 */
export type SpendLeases = {
  readonly take: (name: string, kind?: Kind) => Promise<Money | 'spend_cap'>
  /** It was not spent, or the commit has given it back. */
  readonly putBack: (money: Money) => void
  /** The commit found no lease, or it is not known what the commit did. */
  readonly lose: (money: Money) => void
  /** Uncounts a call in a commit of its own. Never fails: what cannot be written now is tried again with the next call. */
  readonly refundLate: (refund: LateRefund) => Promise<void>
  /** Gives back the leases that would last for longer than the time since the last call of this, at the present rate. */
  readonly releaseIdle: () => Promise<void>
  readonly close: () => Promise<void>
}

type Lease = {
  readonly name: string
  readonly day: number
  /** Undefined: no cap. */
  leftKobo: number | undefined
  /** What the last request was granted. */
  portionKobo: number
  /** Whether the row of this process was made. */
  hasRow: boolean
  /** The store may hold more of the lease than is left here. */
  isUnsure: boolean
  /** Since leases were last given back. */
  usedKobo: number
  asking: Promise<number> | undefined
}

/** A lease of which less than this is left is renewed while calls go on. */
const RENEW_BELOW = 0.25

export function createSpendLeases(
  table: SpendTable,
  prices: Prices,
  node: string,
  now: () => number = steadyNow,
): SpendLeases {
  const { leases, open, ask, release, doubt } = createLeases(table, prices, node, now)
  const refunds = createRefunds(table, () => toLagosDay(now()))
  const findLease = ({ name, day }: Money): Lease | undefined => {
    const lease = leases.get(name)
    return lease?.day === day ? lease : undefined
  }
  const putBack = (money: Money) => {
    const lease = findLease(money)
    // Otherwise the lease is read from the store again.
    if (lease?.leftKobo !== undefined && !lease.isUnsure) lease.leftKobo += money.kobo
  }
  return {
    take: async (name, kind) => {
      refunds.retry()
      const day = toLagosDay(now())
      const kobo = priceOf(prices[name], kind)
      const lease = await open(name, day)
      const money = { name, day, node, kobo, isCapped: lease.leftKobo !== undefined }
      if (lease.leftKobo === undefined) return money
      // A free call needs no money, only the row that counts it.
      if (kobo === 0 && (!lease.hasRow || lease.isUnsure)) await ask(lease, 0)
      // Another caller may have taken what was granted: as long as something is granted, it is worth asking again.
      while (lease.leftKobo < kobo) {
        const asked = await ask(lease, kobo - lease.leftKobo)
        const missing = kobo - lease.leftKobo
        // What was refused to a caller who asked for no more is refused to this one: else each of them would ask in turn.
        if (missing > 0 && lease.portionKobo === 0 && asked > 0 && asked <= missing) return 'spend_cap'
      }
      lease.leftKobo -= kobo
      lease.usedKobo += kobo
      if (kobo > 0 && lease.leftKobo < lease.portionKobo * RENEW_BELOW) ask(lease, kobo).catch(() => {})
      return money
    },
    putBack,
    lose: (money) => {
      const lease = findLease(money)
      if (!lease) return
      // Without a cap, only its row can be missing, as after a failover: it is made again.
      if (lease.leftKobo === undefined) leases.delete(lease.name)
      else doubt(lease)
    },
    refundLate: (refund) => refunds.give(refund, () => putBack({ ...refund, isCapped: true })),
    releaseIdle: async () => {
      await release(({ isUnsure, usedKobo, leftKobo = 0 }) => isUnsure || usedKobo < leftKobo)
      for (const lease of leases.values()) lease.usedKobo = 0
    },
    close: async () => {
      await refunds.close()
      await release(() => true)
    },
  }
}

/** The leases of this process, one for each source, of the present day. */
function createLeases(table: SpendTable, prices: Prices, node: string, now: () => number) {
  const leases = new Map<string, Lease>()
  const doubt = (lease: Lease) => {
    lease.leftKobo = 0
    lease.isUnsure = true
  }
  /** What the store may have done all the same is read again before the lease is used. */
  const orDoubt = async <R>(lease: Lease, work: Promise<R>): Promise<R> => {
    try {
      return await work
    } catch (error) {
      if (lease.leftKobo !== undefined) doubt(lease)
      throw error
    }
  }
  const giveBack = (lease: Lease): Promise<void> => {
    lease.leftKobo = 0
    lease.isUnsure = false
    return orDoubt(lease, table.giveBack({ name: lease.name, day: lease.day, node }))
  }
  const askOnce = async (lease: Lease, kobo: number) => {
    const { name, day } = lease
    if (lease.isUnsure) await giveBack(lease)
    const { dailyCap } = prices[name] ?? {}
    const capKobo = lease.leftKobo === undefined ? null : (dailyCap ?? null)
    const granted = await orDoubt(lease, table.lease({ name, day, node, kobo, capKobo }, now()))
    lease.portionKobo = granted
    lease.hasRow = true
    if (lease.leftKobo !== undefined) lease.leftKobo += granted
  }
  /** `kobo`: what is missing, or the price of a call. Resolves to what was asked for: another caller, whose price may be another one, may have asked. */
  const ask = (lease: Lease, kobo: number): Promise<number> => {
    lease.asking ??= askOnce(lease, kobo)
      .then(() => kobo)
      .finally(() => {
        lease.asking = undefined
      })
    return lease.asking
  }
  return {
    leases,
    ask,
    doubt,
    open: async (name: string, day: number): Promise<Lease> => {
      const known = leases.get(name)
      if (known?.day === day) {
        // The row of this process is being made.
        if (known.leftKobo === undefined && known.asking) await known.asking
        return known
      }
      const price = prices[name]
      const isPaid = [undefined, 'nin', 'bvn'].some((kind) => priceOf(price, kind as Kind) > 0)
      const leftKobo = price?.dailyCap !== undefined && isPaid ? 0 : undefined
      const state = { portionKobo: 0, hasRow: false, isUnsure: false, usedKobo: 0, asking: undefined }
      const lease: Lease = { name, day, leftKobo, ...state }
      leases.set(name, lease)
      if (leftKobo === undefined)
        await ask(lease, price?.price ?? 0).catch((error) => {
          if (leases.get(name) === lease) leases.delete(name)
          throw error
        })
      return lease
    },
    release: async (isIdle: (lease: Lease) => boolean): Promise<void> => {
      for (const lease of leases.values()) {
        // What is being granted would stay leased by a process that ends.
        await lease.asking?.catch(() => {})
        if (lease.leftKobo === undefined || !isIdle(lease)) continue
        if (lease.leftKobo === 0 && !lease.isUnsure) continue
        await giveBack(lease)
      }
    },
  }
}

type Refunds = {
  /** Never fails. `onWritten` is called when it was counted. */
  readonly give: (refund: LateRefund, onWritten: () => void) => Promise<void>
  /** Starts to write the pending refunds. */
  readonly retry: () => void
  /** Tries to write the pending refunds once more. */
  readonly close: () => Promise<void>
}

/** The ids of refunds are kept this long. An older refund is not retried: its id may have been deleted, and it would count twice. */
export const REFUND_DAYS = 7

function createRefunds(table: Pick<SpendTable, 'refund'>, today: () => number): Refunds {
  let pending: (readonly [LateRefund, () => void])[] = []
  const writing = new Set<Promise<void>>()

  const give = async (refund: LateRefund, onWritten: () => void): Promise<void> => {
    const work = table.refund(refund).then(
      (isNew) => {
        if (isNew) onWritten()
      },
      () => {
        // It may have been written, with only the confirmation lost. The id prevents counting it twice.
        pending.push([refund, onWritten])
      },
    )
    writing.add(work)
    await work
    writing.delete(work)
  }
  const retry = () => {
    if (pending.length === 0) return
    const refunds = pending.filter(([{ day }]) => day > today() - REFUND_DAYS)
    pending = []
    for (const [refund, onWritten] of refunds) void give(refund, onWritten)
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
