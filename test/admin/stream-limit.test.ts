import { EventEmitter } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createPace, createStreamLimit, whileAllowed } from '../../src/admin/stream-limit.ts'
import type { Exchange } from '../../src/http/exchange.ts'

describe('the limit of exports', () => {
  const open = () => ({ response: new EventEmitter() }) as unknown as Pick<Exchange, 'response'>

  it('lets two of a session and four in all be open, and live pages besides', () => {
    const limit = createStreamLimit()
    const [first, ...others] = ['a', 'a', 'b', 'c'].map((session) => {
      const exchange = open()
      limit('application/x-ndjson', session, exchange)
      return exchange
    })
    for (const session of ['a', 'd'])
      expect(() => limit('text/csv', session, open())).toThrow(/Too many open streams/)
    for (let turn = 0; turn < 8; turn++) limit('text/event-stream', 'a', open())
    expect(() => limit('text/event-stream', 'a', open())).toThrow(/Too many open streams/)
    expect(others).toHaveLength(3)
    first?.response.emit('close')
    limit('text/csv', 'a', open())
  })

  it('keeps no place for a client that left before it was asked for', () => {
    const limit = createStreamLimit()
    const left = { response: Object.assign(new EventEmitter(), { destroyed: true }) }
    for (let turn = 0; turn < 9; turn++)
      for (const stream of ['text/csv', 'text/event-stream'] as const)
        limit(stream, 'a', left as unknown as Pick<Exchange, 'response'>)
    expect(left.response.listenerCount('close')).toBe(0)
    limit('text/csv', 'a', open())
  })
})

describe('an export whose session ends', () => {
  afterEach(() => vi.restoreAllMocks())

  it('is broken off within a second, and asks no more often', async () => {
    let [ms, asked] = [0, 0]
    vi.spyOn(performance, 'now').mockImplementation(() => ms)
    async function* write() {
      for (let piece = 0; piece < 100; piece++) {
        ms += 300
        yield piece
      }
    }
    const isStillAllowed = async () => ++asked < 3
    const pieces: number[] = []
    const reading = async () => {
      for await (const piece of whileAllowed(write(), isStillAllowed)) pieces.push(piece)
    }
    await expect(reading()).rejects.toMatchObject({ code: 'signed_out' })
    expect([pieces.length, asked]).toEqual([11, 3])
  })
})

describe('the pace of exports', () => {
  it('lets one of them work at a time, and gives every piece in order', async () => {
    const pace = createPace()
    let [working, most, ended] = [0, 0, 0]
    async function* write(count: number) {
      try {
        for (let piece = 0; piece < count; piece++) {
          most = Math.max(most, ++working)
          await new Promise(setImmediate)
          working -= 1
          yield piece
        }
      } finally {
        ended += 1
      }
    }
    const all = await Promise.all([7, 3, 5].map((count) => Array.fromAsync(pace(write(count)))))
    expect(all).toEqual([7, 3, 5].map((count) => Array.from({ length: count }, (_each, piece) => piece)))
    for await (const piece of pace(write(9))) if (piece === 2) break
    expect([most, ended]).toEqual([1, 4])
  })

  it('goes on with the others after a failure, and while a reader waits', async () => {
    const pace = createPace()
    async function* write(fails: boolean) {
      yield 1
      if (fails) throw new Error('the database is unavailable')
      yield 2
    }
    const stalled = pace(write(false))[Symbol.asyncIterator]()
    expect(await stalled.next()).toEqual({ done: false, value: 1 })
    await expect(Array.fromAsync(pace(write(true)))).rejects.toThrow('unavailable')
    expect(await Array.fromAsync(pace(write(false)))).toEqual([1, 2])
    expect(await stalled.next()).toEqual({ done: false, value: 2 })
  })
})
