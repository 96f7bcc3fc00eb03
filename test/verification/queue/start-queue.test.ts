import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createQueueSignals } from '../../../src/verification/queue/open-queue.ts'
import { startQueue } from '../../../src/verification/queue/worker.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** A server whose queue is empty, and counts how often it is looked at. */
function open() {
  const state = { rounds: 0, isHealthy: true, stopping: false, fails: false }
  let held: Promise<void> | undefined
  const failures: unknown[] = []
  const signals = createQueueSignals(async () => [])
  const context = {
    sources: {},
    audit: {
      owner: 'node',
      get isHealthy() {
        return state.isHealthy
      },
    },
    log: { failure: (error: unknown) => failures.push(error) },
    lifecycle: {
      get stopping() {
        return state.stopping
      },
    },
    queue: {
      signals,
      settings: { concurrency: { single: 1, batch: 1 } },
      pace: { look: () => {} },
      table: {
        claimExpired: async () => [],
        listHeads: async (wanted: readonly object[]) => {
          state.rounds += 1
          if (state.fails) throw new Error('lost')
          await held
          return wanted.map(() => ({ heads: [], isPart: false, elsewhere: [] }))
        },
      },
    },
  }
  /** Rounds do not end until the returned function is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return () => {
      held = undefined
      resolve()
    }
  }
  return { state, failures, signals, hold, stop: startQueue(context as never) }
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('the queue of a server', () => {
  it('is looked at once a second', async () => {
    const { state } = open()
    await pass(5)
    expect(state.rounds).toBe(1)
    await pass(999)
    expect(state.rounds).toBe(1)
    await pass(1)
    expect(state.rounds).toBe(2)
  })

  it('is looked at soon after something was added, once for all of it', async () => {
    const { state, signals } = open()
    await pass(5)
    for (let count = 0; count < 10; count++) signals.wake()
    await pass(4)
    expect(state.rounds).toBe(1)
    await pass(1)
    expect(state.rounds).toBe(2)
    await pass(999)
    expect(state.rounds).toBe(2)
  })

  it('is looked at again after a look during which something was added', async () => {
    const { state, signals, hold } = open()
    const release = hold()
    await pass(5)
    signals.wake()
    await pass(2000)
    expect(state.rounds).toBe(1)
    release()
    await pass(5)
    expect(state.rounds).toBe(2)
    await pass(999)
    expect(state.rounds).toBe(2)
  })

  it('is left alone while the log cannot be written, and when the server stops', async () => {
    const { state } = open()
    state.isHealthy = false
    await pass(2000)
    expect(state.rounds).toBe(0)
    state.isHealthy = true
    state.stopping = true
    await pass(2000)
    expect(state.rounds).toBe(0)
    state.stopping = false
    await pass(1000)
    expect(state.rounds).toBe(1)
  })

  it('is looked at a second after a failure, which is told', async () => {
    const { state, failures } = open()
    state.fails = true
    await pass(5)
    state.fails = false
    await pass(999)
    expect([state.rounds, failures.length]).toEqual([1, 1])
    await pass(1)
    expect([state.rounds, failures.length]).toEqual([2, 1])
  })

  it('is no longer looked at once it is stopped, which waits for the look under way', async () => {
    const { state, signals, hold, stop } = open()
    const release = hold()
    await pass(5)
    let isStopped = false
    const stopped = stop().then(() => {
      isStopped = true
    })
    await pass(100)
    expect(isStopped).toBe(false)
    release()
    await stopped
    signals.wake()
    await pass(5000)
    expect(state.rounds).toBe(1)
    expect(await signals.waitForEnd('ver_1', 60_000)).toBe(true)
  })
})
