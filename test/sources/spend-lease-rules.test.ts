import { describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import {
  createSpendLeases,
  type Money,
  type Prices,
  priceOf,
  toPrices,
} from '../../src/sources/spend-leases.ts'
import type { LateRefund, LeaseRequest, SpendTable } from '../../src/sources/spend-table.ts'

const PRICES: Prices = {
  dojah: { price: 100, dailyCap: 10_000 },
  open: { price: 100, dailyCap: undefined },
  both: { price: 0, prices: { nin: 30, bvn: 0 }, dailyCap: 10_000 },
  free: { price: 0, dailyCap: 10_000 },
  dear: { price: 0, prices: { bvn: 70 }, dailyCap: 10_000 },
  two: { price: 100, prices: { nin: 30 }, dailyCap: 10_000 },
}

/** A store that grants what it is told to grant, and notes what it is asked. */
function openLeases(grants: readonly number[] = []) {
  let held = Promise.resolve()
  const left = [...grants]
  const asked: LeaseRequest[] = []
  const givenBack: Pick<LeaseRequest, 'name' | 'day'>[] = []
  const refunds: LateRefund[] = []
  const store = { isUnavailable: false, isNewRefund: true, clock: 20 * DAY_MS }
  const answer = async <R>(value: R): Promise<R> => {
    const { isUnavailable } = store
    await held
    if (isUnavailable) throw new Error('store unavailable')
    return value
  }
  const table = {
    lease: (request: LeaseRequest) => {
      asked.push(request)
      return answer(store.isUnavailable ? 0 : (left.shift() ?? 0))
    },
    giveBack: async ({ name, day }: LeaseRequest) => {
      await answer(givenBack.push({ name, day }))
    },
    refund: (refund: LateRefund) => {
      refunds.push(refund)
      return answer(store.isNewRefund)
    },
  }
  const leases = createSpendLeases(table as unknown as SpendTable, PRICES, 'here', () => store.clock)
  const take = async (name = 'dojah') => (await leases.take(name)) as Money
  /** The store does not answer until the returned function is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return resolve
  }
  return { leases, take, hold, store, asked, givenBack, refunds }
}

/** Lets what was started in the background end. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('the price of a call', () => {
  it('is that of the operation, or else that of the vendor, or else nothing', () => {
    const price = { price: 100, prices: { nin: 30, bvn: 0 } }
    expect([priceOf(price, 'nin'), priceOf(price, 'bvn'), priceOf(price, undefined)]).toEqual([30, 0, 100])
    expect(priceOf({ price: 100, prices: { nin: undefined } }, 'nin')).toBe(100)
    expect(priceOf(undefined, 'nin')).toBe(0)
  })

  it('is nothing for a vendor whose settings name none', () => {
    const vendors = { one: { dailyCap: 5 }, two: { price: 7, prices: { nin: 1 } } } as never
    expect(toPrices({ vendors })).toEqual({
      one: { price: 0, prices: undefined, dailyCap: 5 },
      two: { price: 7, prices: { nin: 1 }, dailyCap: undefined },
    })
  })
})

describe('money below a cap', () => {
  it('is leased before the first call, and spent without asking again', async () => {
    const { take, asked } = openLeases([1000])
    expect(await take()).toEqual({ name: 'dojah', day: 20, node: 'here', kobo: 100, isCapped: true })
    await take()
    expect(asked).toEqual([{ name: 'dojah', day: 20, node: 'here', kobo: 100, capKobo: 10_000 }])
  })

  it('is refused when nothing is granted, and asked for again by the next call', async () => {
    const { leases, take, asked } = openLeases([0, 1000])
    expect(await leases.take('dojah')).toBe('spend_cap')
    expect((await take()).kobo).toBe(100)
    expect(asked).toHaveLength(2)
  })

  it('is asked for until it is enough, with what is still missing', async () => {
    const { take, asked } = openLeases([60, 40])
    expect((await take()).kobo).toBe(100)
    expect(asked.slice(0, 2).map(({ kobo }) => kobo)).toEqual([100, 40])
  })

  it('is renewed in the background when less than a quarter of the lease is left', async () => {
    const { take, asked } = openLeases([400, 400])
    for (let call = 0; call < 3; call++) await take()
    await settle()
    expect(asked).toHaveLength(1)
    await take()
    await settle()
    expect(asked).toHaveLength(2)
    await take()
    expect(asked).toHaveLength(2)
  })

  it('that is left is spent without waiting for more', async () => {
    const { leases, hold, asked } = openLeases([400, 400])
    for (let call = 0; call < 3; call++) await leases.take('two')
    const answer = hold()
    // The first of these starts a renewal, which is not answered.
    for (let call = 0; call < 3; call++) expect(await leases.take('two', 'nin')).toMatchObject({ kobo: 30 })
    expect(asked).toHaveLength(2)
    answer()
  })

  it('is asked for once by callers that come together, and serves them all', async () => {
    const { take, asked } = openLeases([1000])
    const taken = await Promise.all([take(), take(), take()])
    expect(taken.map(({ kobo }) => kobo)).toEqual([100, 100, 100])
    expect(asked).toHaveLength(1)
  })

  it('can be spent by another call when it was put back, also after the lease is used up', async () => {
    const { leases, take, asked } = openLeases([100])
    const money = await take()
    await settle()
    leases.putBack(money)
    const before = asked.length
    expect((await take()).kobo).toBe(100)
    await settle()
    expect(asked.length).toBeLessThanOrEqual(before + 1)
    expect(await leases.take('dojah')).toBe('spend_cap')
  })

  it('that was put back while the store refused more is spent', async () => {
    const { leases, take, hold } = openLeases([100])
    const money = await take()
    await settle()
    const answer = hold()
    const asking = take()
    await settle()
    leases.putBack(money)
    answer()
    expect((await asking).kobo).toBe(100)
  })

  it('that is too little for one price may be enough for another', async () => {
    const { leases } = openLeases([0, 30])
    const [dear, cheap] = await Promise.all([leases.take('two'), leases.take('two', 'nin')])
    expect([dear, cheap]).toEqual(['spend_cap', expect.objectContaining({ kobo: 30 })])
  })

  it('is read from the store again when it is not known what a commit did', async () => {
    const { leases, take, asked, givenBack } = openLeases([1000, 1000, 1000])
    const [money, other] = [await take(), await take()]
    leases.lose(money)
    leases.putBack(other)
    for (let call = 0; call < 12; call++) await take()
    await settle()
    expect(givenBack).toEqual([{ name: 'dojah', day: 20 }])
    expect(asked.map(({ kobo }) => kobo)).toEqual([100, 100, 100])
  })

  it('is neither put back nor lost on another day', async () => {
    const { leases, take, store, asked, givenBack } = openLeases([100, 0, 100])
    const yesterday = await take()
    await settle()
    store.clock += DAY_MS
    const today = await take()
    expect(today.day).toBe(21)
    await settle()
    leases.putBack(yesterday)
    leases.lose(yesterday)
    expect(await leases.take('dojah')).toBe('spend_cap')
    expect(givenBack).toEqual([])
    expect(new Set(asked.map(({ day }) => day))).toEqual(new Set([20, 21]))
  })

  it('is not needed for a free operation: only its row is made, once', async () => {
    const { leases, asked } = openLeases([300])
    expect(await leases.take('both', 'bvn')).toMatchObject({ kobo: 0, isCapped: true })
    await leases.take('both', 'bvn')
    expect(asked.map(({ kobo }) => kobo)).toEqual([0])
    await leases.take('both', 'nin')
    await settle()
    const before = asked.length
    await leases.take('both', 'bvn')
    await settle()
    expect(asked).toHaveLength(before)
  })

  it('is leased for a vendor of which one operation alone costs something', async () => {
    const { leases } = openLeases([70])
    expect(await leases.take('dear', 'bvn')).toMatchObject({ kobo: 70, isCapped: true })
    expect(await leases.take('dear', 'bvn')).toBe('spend_cap')
  })

  it('is not leased for a vendor that costs nothing', async () => {
    const { leases, asked } = openLeases()
    expect(await leases.take('free')).toMatchObject({ kobo: 0, isCapped: false })
    expect(asked).toEqual([{ name: 'free', day: 20, node: 'here', kobo: 0, capKobo: null }])
  })
})

describe('a vendor without a cap', () => {
  it('has a row of this process, and nothing is leased', async () => {
    const { take, asked } = openLeases()
    const taken = await Promise.all([take('open'), take('open')])
    expect(taken.map(({ kobo, isCapped }) => [kobo, isCapped])).toEqual([
      [100, false],
      [100, false],
    ])
    expect(asked).toEqual([{ name: 'open', day: 20, node: 'here', kobo: 100, capKobo: null }])
  })

  it('is called when its row has been made, and not before', async () => {
    const { take, hold } = openLeases()
    const answer = hold()
    const done: string[] = []
    const both = [take('open').then(() => done.push('one')), take('open').then(() => done.push('other'))]
    await settle()
    expect(done).toEqual([])
    answer()
    await Promise.all(both)
    expect(done).toHaveLength(2)
  })

  it('that has no settings is called, and costs nothing', async () => {
    const { take, asked } = openLeases()
    expect(await take('own')).toEqual({ name: 'own', day: 20, node: 'here', kobo: 0, isCapped: false })
    expect(asked).toEqual([{ name: 'own', day: 20, node: 'here', kobo: 0, capKobo: null }])
  })

  it('is asked for its row again when that could not be made, or was lost', async () => {
    const { leases, take, store, asked } = openLeases()
    store.isUnavailable = true
    await expect(take('open')).rejects.toThrow('store unavailable')
    store.isUnavailable = false
    const money = await take('open')
    expect(asked).toHaveLength(2)
    leases.lose(money)
    expect(await take('open')).toMatchObject({ kobo: 100, isCapped: false })
    expect(asked).toHaveLength(3)
  })
})

describe('money that is not used', () => {
  it('is given back when less was spent than is left, and kept when more was', async () => {
    const { leases, take, givenBack } = openLeases([1000, 1000])
    for (let call = 0; call < 5; call++) await take()
    await leases.releaseIdle()
    expect(givenBack).toEqual([])
    await take()
    await leases.releaseIdle()
    expect(givenBack).toEqual([{ name: 'dojah', day: 20 }])
    await leases.releaseIdle()
    expect(givenBack).toHaveLength(1)
  })

  it('is given back at the end, however much was spent, unless there is none', async () => {
    const { leases, take, givenBack } = openLeases([1000])
    for (let call = 0; call < 6; call++) await take()
    await take('open')
    await leases.close()
    await leases.close()
    expect(givenBack).toEqual([{ name: 'dojah', day: 20 }])
  })

  it('is given back at the end, also what is being granted then', async () => {
    const { leases, take, hold, givenBack } = openLeases([400, 1000])
    for (let call = 0; call < 3; call++) await take()
    const answer = hold()
    // Takes the rest, and more is asked for in the background.
    await take()
    const closing = leases.close()
    await settle()
    expect(givenBack).toEqual([])
    answer()
    await closing
    expect(givenBack).toEqual([{ name: 'dojah', day: 20 }])
  })

  it('is given back before it is used, when giving it back failed', async () => {
    const { leases, take, store, givenBack } = openLeases([1000, 1000])
    await take()
    store.isUnavailable = true
    await expect(leases.releaseIdle()).rejects.toThrow('store unavailable')
    store.isUnavailable = false
    givenBack.length = 0
    await take()
    expect(givenBack).toHaveLength(1)
  })

  it('is asked for again when the confirmation of a lease was lost, after giving back what may be leased', async () => {
    const { take, store, givenBack } = openLeases([1000, 1000])
    store.isUnavailable = true
    await expect(take()).rejects.toThrow('store unavailable')
    store.isUnavailable = false
    expect((await take()).kobo).toBe(100)
    expect(givenBack).toHaveLength(1)
  })
})

describe('a late refund of money', () => {
  const REFUND = { id: 'r1', name: 'dojah', day: 20, node: 'here', kobo: 100 }

  it('can be spent again, once it is written', async () => {
    const { leases, take, refunds } = openLeases([100])
    await take()
    await settle()
    await leases.refundLate(REFUND)
    expect(refunds).toEqual([REFUND])
    expect((await take()).kobo).toBe(100)
    expect(await leases.take('dojah')).toBe('spend_cap')
  })

  it('cannot be spent twice, when it was written before', async () => {
    const { leases, take, store } = openLeases([100])
    await take()
    await settle()
    store.isNewRefund = false
    await leases.refundLate(REFUND)
    expect(await leases.take('dojah')).toBe('spend_cap')
  })

  it('that could not be written is written once with the next call', async () => {
    const { leases, take, store, refunds } = openLeases([1000])
    await take()
    store.isUnavailable = true
    await leases.refundLate(REFUND)
    store.isUnavailable = false
    await take()
    await settle()
    await take()
    await settle()
    expect(refunds.map(({ id }) => id)).toEqual(['r1', 'r1'])
  })

  it.each([
    ['is tried for seven days', 6, 2],
    ['is given up after seven days: its id may be forgotten', 7, 1],
  ])('%s', async (_, days, tries) => {
    const { leases, store, refunds } = openLeases([1000])
    store.isUnavailable = true
    await leases.refundLate(REFUND)
    store.isUnavailable = false
    store.clock += days * DAY_MS
    await leases.close()
    expect(refunds).toHaveLength(tries)
  })

  it('is waited for at the end, also when it is written for the second time', async () => {
    const { leases, hold, store, refunds } = openLeases()
    store.isUnavailable = true
    await leases.refundLate(REFUND)
    store.isUnavailable = false
    const answer = hold()
    let isClosed = false
    const closing = leases.close().then(() => {
      isClosed = true
    })
    await settle()
    expect([refunds.length, isClosed]).toEqual([2, false])
    answer()
    await closing
  })

  it('under way at the end is tried once more when it fails', async () => {
    const { leases, store, refunds } = openLeases()
    store.isUnavailable = true
    const writing = leases.refundLate(REFUND)
    const closing = leases.close()
    store.isUnavailable = false
    await Promise.all([writing, closing])
    expect(refunds.map(({ id }) => id)).toEqual(['r1', 'r1'])
  })
})
