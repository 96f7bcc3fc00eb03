import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createEvent } from '../../src/contract/event.ts'
import { MINUTE_MS } from '../../src/contract/time.ts'
import type { Post } from '../../src/sources/http.ts'
import { sealSecret } from '../../src/webhooks/attempt.ts'
import { createMemoryDelivery, startPoll } from '../../src/webhooks/delivery.ts'
import type { EndpointRow } from '../../src/webhooks/webhook-table.ts'
import { KEY } from './setup.ts'

const EVENT = createEvent({
  type: 'audit.unavailable',
  at: Date.UTC(2026, 10, 17),
  keyId: '',
  reference: 'audit:node-1',
  data: { status: 'unavailable' },
})

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const toRow = (id: string, change: Partial<EndpointRow> = {}): EndpointRow => ({
  ...{ id, name: id, url: `https://${id}.example/`, createdAt: 1, secret: sealSecret(KEY, id, 'whsec_eA==') },
  ...{
    previousSecret: undefined,
    previousUntil: undefined,
    disabledAt: undefined,
    disabledReason: undefined,
  },
  ...{ failingSince: undefined, pausedUntil: 0, events: ['audit.unavailable'], lineages: [] },
  ...change,
})

describe('an event that is sent from memory', () => {
  let rows: EndpointRow[]
  let sent: string[]
  let attempts: string[]
  let errors: unknown[]
  let reply: () => { status: number; retryAfterMs: number | undefined }
  beforeEach(() => {
    rows = [toRow('one')]
    sent = []
    attempts = []
    errors = []
    reply = () => ({ status: 500, retryAfterMs: undefined })
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
  })
  const post: Post = async ({ url, headers }) => {
    sent.push(`${url} ${headers['webhook-id']}`)
    return reply()
  }
  const open = (deliver = post) =>
    createMemoryDelivery({
      table: { list: async () => rows },
      post: deliver,
      key: KEY,
      onAttempt: (result) => void attempts.push(result),
      onError: (error) => void errors.push(error),
    })
  const ONE = `https://one.example/ ${EVENT.id}`

  it('goes to the enabled endpoints that want it, as they were when the store was last read', async () => {
    rows = [
      toRow('one'),
      toRow('disabled', { disabledAt: 1 }),
      toRow('other', { events: ['source.down'] }),
      toRow('two', { events: ['source.down', 'audit.unavailable'] }),
    ]
    const memory = open()
    memory.send(EVENT)
    await memory.refresh()
    rows = []
    reply = () => ({ status: 204, retryAfterMs: undefined })
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(MINUTE_MS)
    expect(sent).toEqual([ONE, `https://two.example/ ${EVENT.id}`])
    expect(attempts).toEqual(['delivered', 'delivered'])
  })

  it('is repeated on the schedule with the same id, until it is delivered', async () => {
    const memory = open()
    await memory.refresh()
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(4999)
    expect(sent).toEqual([ONE])
    await vi.advanceTimersByTimeAsync(1)
    expect(sent).toEqual([ONE, ONE])
    reply = () => ({ status: 200, retryAfterMs: undefined })
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS - 1)
    expect(sent).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    await vi.advanceTimersByTimeAsync(1000 * MINUTE_MS)
    expect(attempts).toEqual(['failed', 'failed', 'delivered'])
  })

  it('waits as long as the receiver asks', async () => {
    reply = () => ({ status: 503, retryAfterMs: MINUTE_MS })
    const memory = open()
    await memory.refresh()
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(MINUTE_MS - 1)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent).toHaveLength(2)
  })

  it('is given up after ten attempts, and at once if the receiver answers 410', async () => {
    const memory = open()
    await memory.refresh()
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(10_000 * MINUTE_MS)
    expect(attempts).toEqual(Array(10).fill('failed'))
    reply = () => ({ status: 410, retryAfterMs: undefined })
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(10_000 * MINUTE_MS)
    expect(attempts).toHaveLength(11)
  })

  it('is not repeated after the end, and what is under way then is not counted', async () => {
    const memory = open()
    await memory.refresh()
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(1)
    memory.close()
    let signal: AbortSignal | undefined
    const second = open((request) => {
      signal = request.signal
      return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(reply())))
    })
    await second.refresh()
    second.send(EVENT)
    second.close()
    await vi.advanceTimersByTimeAsync(MINUTE_MS)
    expect([signal?.aborted, attempts, sent]).toEqual([true, ['failed'], [ONE]])
  })

  it('that fails by a fault of the program is reported', async () => {
    const memory = open(() => Promise.reject(new TypeError('a defect')))
    await memory.refresh()
    memory.send(EVENT)
    await vi.advanceTimersByTimeAsync(1)
    expect([String(errors), attempts]).toEqual(['TypeError: a defect', []])
  })
})

describe('repeated work', () => {
  let runs: number
  let finish: (() => void)[]
  const work = () =>
    new Promise<void>((resolve) => {
      runs += 1
      finish.push(resolve)
    })
  beforeEach(() => {
    runs = 0
    finish = []
  })
  const finishOne = async () => {
    finish.shift()?.()
    await vi.advanceTimersByTimeAsync(0)
  }

  it('runs again so long after the end of each run, also of one that fails', async () => {
    const poll = startPoll(async () => {
      runs += 1
      throw new Error('the store is unavailable')
    }, 1000)
    await vi.advanceTimersByTimeAsync(999)
    expect(runs).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(runs).toBe(1)
    await vi.advanceTimersByTimeAsync(999)
    expect(runs).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(runs).toBe(2)
    await poll.close()
  })

  it('runs now, and not a second time at the usual time', async () => {
    const poll = startPoll(work, 1000)
    await vi.advanceTimersByTimeAsync(500)
    poll.now()
    expect(runs).toBe(1)
    await finishOne()
    await vi.advanceTimersByTimeAsync(999)
    expect(runs).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(runs).toBe(2)
    await finishOne()
    await poll.close()
  })

  it('never runs twice at the same time; what is asked for meanwhile follows once', async () => {
    const poll = startPoll(work, 1000)
    poll.now()
    poll.now()
    poll.now()
    await vi.advanceTimersByTimeAsync(5000)
    expect(runs).toBe(1)
    await finishOne()
    expect(runs).toBe(2)
    await finishOne()
    expect(runs).toBe(2)
    await poll.close()
  })

  it('ends: closing waits for the run under way, and nothing runs afterwards', async () => {
    const poll = startPoll(work, 1000)
    poll.now()
    poll.now()
    let isClosed = false
    const closed = poll.close().then(() => {
      isClosed = true
    })
    await vi.advanceTimersByTimeAsync(5000)
    expect(isClosed).toBe(false)
    await finishOne()
    await closed
    poll.now()
    await vi.advanceTimersByTimeAsync(5000)
    expect(runs).toBe(1)
  })
})
