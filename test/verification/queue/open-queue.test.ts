import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  createQueuePace,
  createQueueSignals,
  openQueue,
  toCleanup,
} from '../../../src/verification/queue/open-queue.ts'

it('a verification takes one attempt, and the attempts of its turn before it', () => {
  let at = 0
  const pace = createQueuePace(2, () => at)
  expect(pace.estimateMs(10)).toBe(0)
  const ends = [pace.begin(), pace.begin()]
  expect(pace.isFull()).toBe(true)
  at = 2000
  for (const end of ends) end()
  expect(pace.isFull()).toBe(true)
  at = 3000
  expect(pace.isFull()).toBe(false)
  expect(pace.estimateMs(0)).toBe(2000)
  expect(pace.estimateMs(10)).toBe(12_000)
  pace.look(3)
  expect(pace.estimateMs(10)).toBe(32_000)
})

it('looks for the answers of other processes once for all waiting callers', async () => {
  const statements: number[] = []
  const ended = new Set<string>()
  const { waitForEnd, close } = createQueueSignals(async (references) => {
    statements.push(references.length)
    return references.filter((each) => ended.has(each))
  })
  const waits = Array.from({ length: 2500 }, (_each, index) => waitForEnd(`ref_${index}`, 60_000))
  await expect.poll(() => statements.length).toBe(3)
  expect(statements).toEqual([1000, 1000, 500])
  ended.add('ref_1700')
  expect(await waits[1700]).toBe(false)
  expect(statements.slice(3, 6)).toEqual([1000, 1000, 500])
  close()
  expect(await Promise.all(waits.filter((_each, index) => index !== 1700))).toEqual(Array(2499).fill(true))
})

it('goes on looking when the database was lost for a moment', async () => {
  let looks = 0
  const { waitForEnd } = createQueueSignals(async (references) => {
    looks += 1
    if (looks === 1) throw new Error('lost')
    return [...references]
  })
  expect(await waitForEnd('ref', 60_000)).toBe(false)
  expect(looks).toBe(2)
})

it('the pace is the mean of all attempts, of which a new one counts a tenth', () => {
  let at = 0
  const pace = createQueuePace(3, () => at)
  const take = (ms: number) => {
    const end = pace.begin()
    at += ms
    end()
  }
  take(1000)
  expect(pace.estimateMs(0)).toBe(1000)
  take(2000)
  expect(pace.estimateMs(0)).toBe(1100)
  expect(pace.estimateMs(3)).toBe(2200)
  pace.look(0)
  expect(pace.estimateMs(3)).toBe(2200)
})

it('the queue is full while all places are taken, and for less than a second after', () => {
  let at = 0
  const pace = createQueuePace(2, () => at)
  expect(pace.isFull()).toBe(false)
  const first = pace.begin()
  expect(pace.isFull()).toBe(false)
  const second = pace.begin()
  expect(pace.isFull()).toBe(true)
  at = 500
  first()
  expect(pace.isFull()).toBe(true)
  at = 1499
  second()
  expect(pace.isFull()).toBe(true)
  at = 1500
  expect(pace.isFull()).toBe(false)
})

const NONE = async () => []

it('a caller waits until its verification ends in this process, or until its time is over', async () => {
  const { waitForEnd, end, ended } = createQueueSignals(NONE)
  const waits = [waitForEnd('ver_1', 60_000), waitForEnd('ver_1', 60_000), waitForEnd('ver_3', 1)]
  let isOver = false
  const other = waitForEnd('ver_2', 60_000).then(() => {
    isOver = true
  })
  end('ver_1', 'verified')
  expect(await Promise.all(waits)).toEqual([false, false, false])
  await nextTurn()
  expect(isOver).toBe(false)
  end('ver_2', 'source_unavailable')
  end('ver_9', 'verified')
  await other
  expect(ended).toEqual({ verified: 2, not_verified: 0, expired: 0, cancelled: 0, source_unavailable: 1 })
})

it('nobody waits for a server that stops', async () => {
  const { waitForEnd, close } = createQueueSignals(NONE)
  const waits = [waitForEnd('ver_1', 60_000), waitForEnd('ver_2', 60_000)]
  close()
  expect(await Promise.all(waits)).toEqual([true, true])
  expect(await waitForEnd('ver_1', 60_000)).toBe(true)
})

it('one worker is told of what is added', () => {
  const { wake, onWake } = createQueueSignals(NONE)
  wake()
  let woken = 0
  onWake(() => {
    woken += 1
  })
  wake()
  expect(woken).toBe(1)
})

it('the queue has the settings of the server, and a cleanup corrects times and deletes what was kept long enough', async () => {
  const config = {
    ...{ pendingLimit: 1, pendingKeep: 2, pendingRetry: 3, pendingRetryMax: 4, pendingWait: 5, paidCalls: 6 },
    ...{ pendingMaxPerKey: 7, pendingMax: 8, pendingConcurrency: 9, batchConcurrency: 10 },
  }
  const cleaned: unknown[] = []
  const table = {
    listEnded: NONE,
    correctDue: async (limits: object) => cleaned.push(limits) && 7,
    deleteExpired: async (keepMs: number) => cleaned.push(keepMs) && 3,
  }
  const queue = openQueue(config, { queue: table as never }, {} as never, {} as never)
  expect(queue.settings).toEqual({
    ...{ limitMs: 1, keepMs: 2, firstRetryMs: 3, longestRetryMs: 4, maxWaitMs: 5, paidCalls: 6 },
    ...{ limits: { perKey: 7, all: 8 }, concurrency: { single: 9, batch: 10 } },
  })
  // The larger number, so that it is called again until both have nothing left to do.
  expect(await toCleanup(queue).deleteExpired()).toBe(7)
  expect(cleaned).toEqual([queue.settings, 2])
})
