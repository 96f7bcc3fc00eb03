import { createSecretKey } from 'node:crypto'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { sealSecret } from '../../src/webhooks/attempt.ts'
import { startDelivery } from '../../src/webhooks/delivery.ts'
import type { ClaimedDelivery, DeliveryTable, DueEndpoint } from '../../src/webhooks/delivery-table.ts'

const KEY = createSecretKey(Buffer.alloc(32, 7))

const toEndpoint = (id: string, isFailing = false): DueEndpoint => ({
  ...{ id, url: 'https://shop.example/hooks', isFailing },
  ...{ secret: sealSecret(KEY, id, 'whsec_AAAA'), previousSecret: undefined, previousUntil: undefined },
})

const toDelivery = (endpointId: string, number: number): ClaimedDelivery =>
  ({ endpointId, eventId: `evt_${number}`, body: '{}', attempt: 1, tries: 0 }) as ClaimedDelivery

/** Lets everything run that waits for nothing. */
const settle = () => new Promise((done) => setImmediate(done))

type Steps = {
  readonly listDue: () => Promise<DueEndpoint[]>
  readonly claim: (endpointId: string) => Promise<ClaimedDelivery[]>
  readonly onPost?: () => void
  readonly status?: () => number
}

function start({ listDue, claim, onPost = () => {}, status = () => 200 }: Steps) {
  const delivered: string[] = []
  const table = {
    listDue,
    claim: ({ endpointId }: { endpointId: string }) => claim(endpointId),
    settle: async ({ eventId }: { eventId: string }) => {
      delivered.push(eventId)
      return { disabled: undefined }
    },
  } as unknown as DeliveryTable
  const post = async () => {
    onPost()
    return { status: status(), retryAfterMs: undefined }
  }
  const nothing = () => {}
  const delivery = startDelivery({
    ...{ table, post: post as never, key: KEY, onAttempt: nothing, onGivenUp: nothing, onDisabled: nothing },
    onError: (error) => {
      throw error
    },
  })
  return { ...delivery, delivered }
}

describe('the lanes of an endpoint', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  it('are eight, one if it fails, and are taken again when they end', async () => {
    const waiting = new Map<string, ((none: []) => void)[]>([
      ['works', []],
      ['fails', []],
    ])
    const delivery = start({
      listDue: async () => [toEndpoint('works'), toEndpoint('fails', true)],
      claim: (id) => new Promise((resolve) => waiting.get(id)?.push(resolve)),
    })
    const counts = () => [...waiting.values()].map(({ length }) => length)
    const end = (id: string, most: number) => {
      for (const resolve of waiting.get(id)?.splice(0, most) ?? []) resolve([])
    }
    const all = [delivery.deliverDue()]
    await settle()
    expect(counts()).toEqual([8, 1])
    all.push(delivery.deliverDue())
    await settle()
    expect(counts()).toEqual([8, 1])
    end('works', 3)
    end('fails', 1)
    await settle()
    expect(counts()).toEqual([5, 0])
    all.push(delivery.deliverDue())
    await settle()
    expect(counts()).toEqual([8, 1])
    end('works', 8)
    end('fails', 1)
    await Promise.all(all)
  })

  it('end after a second, and at the end of the process not before everything is delivered', async () => {
    let ms = 0
    vi.spyOn(performance, 'now').mockImplementation(() => ms)
    const due = Array.from({ length: 20 }, (_, number) => toDelivery('works', number))
    const delivery = start({
      listDue: async () => (due.length > 0 ? [toEndpoint('works')] : []),
      claim: async () => due.splice(0, 1),
      onPost: () => {
        ms += 1001
      },
    })
    await delivery.deliverDue()
    expect(delivery.delivered).toHaveLength(8)
    await delivery.close()
    expect(delivery.delivered).toHaveLength(20)
  })

  it('make one request a second while it fails, however many events there are, and go on when it answers', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    let posts = 0
    let status = 503
    let hasFailed = false
    const delivery = start({
      listDue: async () => [toEndpoint('shop', hasFailed)],
      claim: async (id) => [toDelivery(id, posts)],
      status: () => status,
      onPost: () => {
        posts += 1
        hasFailed = status !== 200
        if (status === 200) vi.advanceTimersByTime(600)
      },
    })
    const wakeOften = async () => {
      for (let wakes = 0; wakes < 20; wakes++) {
        delivery.wake()
        await settle()
      }
      return posts
    }
    expect(await wakeOften()).toBe(8)
    await vi.advanceTimersByTimeAsync(999)
    expect(await wakeOften()).toBe(8)
    for (const expected of [9, 10, 11]) {
      await vi.advanceTimersByTimeAsync(1000)
      expect(posts).toBe(expected)
    }
    expect(await wakeOften()).toBe(11)
    // Nobody wakes it up.
    await vi.advanceTimersByTimeAsync(3000)
    expect(posts).toBe(14)
    status = 200
    await vi.advanceTimersByTimeAsync(1000)
    await settle()
    expect(posts).toBeGreaterThan(15)
  })

  it('look once a second while it fails and its events wait for an earlier one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const claims = { fails: 0, works: 0 }
    const delivery = start({
      listDue: async () => [toEndpoint('fails', true), toEndpoint('works')],
      claim: async (id) => {
        claims[id as keyof typeof claims] += 1
        return []
      },
    })
    for (let wakes = 0; wakes < 20; wakes++) {
      delivery.wake()
      await settle()
    }
    expect(claims.fails).toBe(1)
    expect(claims.works).toBeGreaterThanOrEqual(20)
    await vi.advanceTimersByTimeAsync(1000)
    expect(claims.fails).toBe(2)
  })

  it('are not started by a look at the table that outlasts the process', async () => {
    const looks: PromiseWithResolvers<DueEndpoint[]>[] = []
    const delivery = start({
      listDue: () => {
        looks.push(Promise.withResolvers())
        return (looks.at(-1) as PromiseWithResolvers<DueEndpoint[]>).promise
      },
      claim: async () => [],
    })
    delivery.wake()
    let isClosed = false
    const closing = delivery.close().then(() => {
      isClosed = true
    })
    await settle()
    expect([looks.length, isClosed]).toEqual([1, false])
    looks[0]?.resolve([])
    await settle()
    expect([looks.length, isClosed]).toEqual([2, false])
    looks[1]?.resolve([])
    await closing
  })
})
