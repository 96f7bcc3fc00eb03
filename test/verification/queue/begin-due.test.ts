import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Keyring } from '../../../src/crypto/keyring.ts'
import { toBlindIndex } from '../../../src/crypto/mac.ts'
import { AppError } from '../../../src/errors.ts'
import { toCaller } from '../../../src/keys/caller.ts'
import { withDefaults } from '../../../src/keys/options.ts'
import type { Claimed, QueueHead } from '../../../src/ledger/queue-rows.ts'
import { sealQuestion } from '../../../src/verification/queue/sealed-question.ts'
import { createQueueWorker } from '../../../src/verification/queue/worker.ts'

const toClaimed = (reference: string, changes: Partial<Claimed> = {}): Claimed => ({
  ...{ reference, lease: 'l', keyId: reference, lineage: reference, lane: 'single', mode: 'live' },
  ...{ operation: 'verify_nin', batch: undefined, attempts: 0, paidCalls: 0, lifeMs: 1000 },
  ...{ idempotency: undefined, subject: Buffer.alloc(1), question: Buffer.alloc(1) },
  ...changes,
})
const toHead = (lineage: string, changes: Partial<QueueHead> = {}): QueueHead => ({
  ...{ lineage, lane: 'single', mode: 'live', operation: 'verify_nin', dueMs: 0 },
  ...changes,
})

type Claim = { each: number; lease: string; leaseMs: number; lane: string }
type Guard = { name: string; isAvailable: () => boolean; read: () => { state: string } }

/** A worker on a queue in memory. An attempt runs until the test ends it, and then its verification is cancelled. */
function open({ guards = [] as (Guard | undefined)[], single = 2, batch = 1 } = {}) {
  const clock = { now: 0 }
  const heads = { single: [] as QueueHead[], batch: [] as QueueHead[] }
  const expired: Claimed[][] = []
  const claims: (Claim & { keys: readonly string[]; isFirst: boolean })[] = []
  /** Those that were attempted before. */
  const attempted = new Set<string>()
  const askedExpired: { most: number; lease: string; leaseMs: number }[] = []
  const listed: { lane: string; after: string }[][] = []
  const looks: number[] = []
  const failures: unknown[] = []
  const reported: unknown[] = []
  const running = new Map<string, { end: () => void; fail: (error: Error) => void }>()
  const paced: string[] = []
  const deps = {
    sources: {
      live: { nin: guards.map((guard) => ({ guard })), bvn: [{ guard: undefined }] },
      test: { nin: [{}], bvn: [{}] },
    },
    audit: {
      recordChange: async () => undefined,
      reportFailure: (error: unknown) => reported.push(error),
    },
    queue: {
      settings: { concurrency: { single, batch }, keepMs: 1 },
      signals: { end: () => {} },
      announce: () => {},
      pace: {
        begin: () => {
          paced.push('begin')
          return () => paced.push('end')
        },
        look: (keys: number) => looks.push(keys),
      },
      findCaller: (keyId: string) =>
        new Promise((resolve, reject) => running.set(keyId, { end: () => resolve(undefined), fail: reject })),
      table: {
        claimExpired: async (wanted: (typeof askedExpired)[number]) => {
          askedExpired.push(wanted)
          return expired.shift() ?? []
        },
        listHeads: async (wanted: { lane: 'single' | 'batch'; after: string }[]) => {
          listed.push(wanted)
          return wanted.map(({ lane }) => ({ heads: heads[lane], isPart: false, elsewhere: [] }))
        },
        claim: async (take: (typeof claims)[number]) => {
          claims.push(take)
          const keys = take.keys.filter((key) => !take.isFirst || !attempted.has(key))
          return keys.map((key) => toClaimed(key, { lane: take.lane as never }))
        },
      },
    },
  }
  const worker = createQueueWorker(deps as never, {
    owner: 'node',
    onFailure: (error) => failures.push(error),
    now: () => clock.now,
    monotonicNow: () => clock.now,
  })
  return {
    ...{
      worker,
      clock,
      heads,
      expired,
      claims,
      attempted,
      askedExpired,
      listed,
      looks,
      failures,
      reported,
      running,
      paced,
    },
  }
}

const guard = (changes: Partial<Guard> = {}): Guard => ({
  name: 'dojah',
  isAvailable: () => true,
  read: () => ({ state: 'closed' }),
  ...changes,
})

describe('a round of the queue', () => {
  it('begins what is due under leases of its own, and asks for the next round at once', async () => {
    const { worker, heads, claims, running, paced, looks } = open({ single: 3 })
    heads.single = [toHead('a'), toHead('b', { mode: 'test' }), toHead('c', { dueMs: 300 })]
    expect(await worker.beginDue()).toBe(0)
    expect(claims.map(({ keys, each, lease, leaseMs }) => [keys, each, lease, leaseMs])).toEqual([
      [['a'], 1, 'node:2', 60_000],
      [['b'], 1, 'node:3', 10_000],
    ])
    expect(looks).toEqual([2])
    expect(paced).toEqual(['begin', 'begin'])
    let isIdle = false
    const idle = worker.idle().then(() => {
      isIdle = true
    })
    running.get('a')?.end()
    await Promise.resolve()
    expect(isIdle).toBe(false)
    running.get('b')?.end()
    await idle
    expect(paced).toEqual(['begin', 'begin', 'end', 'end'])
  })

  it.each([
    [[], 1000],
    [[300, 200], 200],
    [[5000], 1000],
  ])('with work due in %j ms is followed by the next in %i ms', async (due, expected) => {
    const { worker, heads } = open()
    heads.single = due.map((dueMs, index) => toHead(`k${index}`, { dueMs }))
    expect(await worker.beginDue()).toBe(expected)
  })

  it('looks at the lanes with free places only, and waits when there is none', async () => {
    const { worker, heads, listed, running, claims } = open({ single: 1, batch: 1 })
    heads.single = [toHead('a')]
    await worker.beginDue()
    await worker.beginDue()
    expect(listed.map((lanes) => lanes.map(({ lane }) => lane))).toEqual([['single', 'batch'], ['batch']])
    heads.batch = [toHead('z', { lane: 'batch' })]
    await worker.beginDue()
    expect(claims.map(({ keys }) => keys)).toEqual([['a'], ['z']])
    expect(await worker.beginDue()).toBe(1000)
    expect(listed).toHaveLength(3)
    for (const { end } of running.values()) end()
    await worker.idle()
    await worker.beginDue()
    expect(listed).toHaveLength(4)
  })

  it('does not count the attempts of batches in the pace that callers are told', async () => {
    const { worker, heads, running, paced, looks } = open()
    heads.batch = [toHead('z', { lane: 'batch' })]
    await worker.beginDue()
    expect(paced).toEqual([])
    expect(looks).toEqual([0])
    running.get('z')?.end()
    await worker.idle()
  })

  it('tells its caller when an attempt ends, also when it fails, and the failure is reported', async () => {
    const { worker, heads, running, failures, reported } = open()
    heads.single = [toHead('a')]
    let ended = 0
    await worker.beginDue(() => {
      ended += 1
    })
    expect(ended).toBe(0)
    const error = new Error('lost')
    running.get('a')?.fail(error)
    await worker.idle()
    expect([ended, failures, reported]).toEqual([1, [error], [error]])
  })
})

describe('verifications whose time is over', () => {
  const toExpired = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => toClaimed(`x${from + index}`, { lifeMs: 0 }))

  it('are looked for once a second, and at once while there are many', async () => {
    const { worker, clock, expired, askedExpired, running } = open()
    await worker.beginDue()
    clock.now = 999
    await worker.beginDue()
    expect(askedExpired).toEqual([{ lease: 'node:1', leaseMs: 60_000, most: 200 }])
    clock.now = 1000
    expired.push(toExpired(200), [])
    await worker.beginDue()
    await worker.beginDue()
    // All places are taken, so no more are looked for.
    expect(askedExpired).toHaveLength(2)
    for (const { end } of [...running.values()].slice(0, 100)) end()
    await new Promise((next) => setImmediate(next))
    await worker.beginDue()
    expect(askedExpired[2]?.most).toBe(100)
    for (const { end } of running.values()) end()
    await worker.idle()
  })

  it('take no place of those that ask a source, and do not count in the pace', async () => {
    const { worker, heads, expired, claims, running, paced } = open({ single: 1, guards: [guard()] })
    expired.push(toExpired(5))
    heads.single = [toHead('a')]
    await worker.beginDue()
    expect(claims.map(({ keys }) => keys)).toEqual([['a']])
    expect(paced).toEqual(['begin'])
    for (const { end } of running.values()) end()
    await worker.idle()
  })
})

describe('what the sources can answer', () => {
  const open2 = (guards: (Guard | undefined)[]) => {
    const opened = open({ single: 4, guards })
    opened.heads.single = [toHead('a'), toHead('b'), toHead('c')]
    return opened
  }

  it('is nothing while none may be called', async () => {
    const { worker, claims } = open2([guard({ isAvailable: () => false })])
    expect(await worker.beginDue()).toBe(1000)
    expect(claims).toEqual([])
  })

  it('is one, to probe a source that was down, and no other beside it', async () => {
    const { worker, claims, running } = open2([guard({ read: () => ({ state: 'half_open' }) })])
    expect(await worker.beginDue()).toBe(0)
    expect(await worker.beginDue()).toBe(1000)
    expect(claims.map(({ keys, each }) => [keys, each])).toEqual([[['a'], 1]])
    for (const { end } of running.values()) end()
    await worker.idle()
    await worker.beginDue()
    expect(claims).toHaveLength(2)
  })

  it('is everything when one of them works', async () => {
    const { worker, claims } = open2([
      guard({ name: 'other', read: () => ({ state: 'half_open' }) }),
      guard(),
      guard({ name: 'third', isAvailable: () => false }),
    ])
    await worker.beginDue()
    expect(claims.map(({ keys }) => keys)).toEqual([['a', 'b', 'c']])
  })

  it('is what the own records were not asked about, while no vendor may be called', async () => {
    const { worker, claims, attempted } = open2([undefined, guard({ isAvailable: () => false })])
    attempted.add('a').add('b')
    expect(await worker.beginDue()).toBe(0)
    expect(claims).toMatchObject([{ keys: ['a', 'b', 'c'], isFirst: true }])
    // Of those that are due, none is new: the next look is after a while.
    attempted.add('c')
    expect(await worker.beginDue()).toBe(1000)
  })

  it('is everything with own records and a vendor that works', async () => {
    const { worker, claims } = open2([undefined, guard()])
    await worker.beginDue()
    expect(claims).toMatchObject([{ keys: ['a', 'b', 'c'], isFirst: false }])
  })

  it('is everything for an operation whose sources are inside this process', async () => {
    const { worker, heads, claims } = open2([guard({ isAvailable: () => false })])
    heads.single = [toHead('a'), toHead('b', { operation: 'verify_bvn' })]
    await worker.beginDue()
    expect(claims.map(({ keys }) => keys)).toEqual([['b']])
  })
})

describe('a source that reached its spend cap', () => {
  const REFERENCE = 'ver_01kabcdefghjkmnpqrstvwxyz012345678'
  const keyring = {
    queue: createSecretKey(randomBytes(32)),
    idempotency: createSecretKey(randomBytes(32)),
  } as unknown as Keyring
  const caller = toCaller({
    ...withDefaults({}),
    ...{ id: 'a', lineage: 'a', mode: 'test', scopes: ['kyc:nin'] },
  })
  const question = sealQuestion(keyring, REFERENCE, {
    ...{ number: '41000000001', phone: '8031234567', requestId: 'req_1', origin: '', caller },
  } as never)

  const subjectKey = createSecretKey(Buffer.alloc(32))
  const subject = toBlindIndex(subjectKey, 'nin', '41000000001')

  /** Each round makes one attempt, if any source may be called, in which the source does what the test says. */
  function openCapped() {
    const clock = { now: 0 }
    const results: string[] = []
    let attempts = 0
    const deps = {
      sources: {
        test: { nin: [{ guard: guard(), source: { name: 'dojah', findNin: () => {} } }] },
        live: {},
      },
      subjectKey,
      audit: { recordChange: async () => undefined, recordWith: async () => undefined },
      guessLimit: { catchUp: async () => {} },
      singleFlight: {
        share: async (
          _question: unknown,
          _queries: unknown,
          { sourceAttempts }: { sourceAttempts: unknown[] },
        ) => {
          attempts += 1
          sourceAttempts.push({ name: 'dojah', result: results.shift() })
          throw new AppError('source_unavailable')
        },
      },
      queue: {
        keyring,
        settings: {
          ...{ concurrency: { single: 2, batch: 1 }, keepMs: 1, paidCalls: 3 },
          ...{ firstRetryMs: 1, longestRetryMs: 1 },
        },
        signals: { end: () => {} },
        pace: { begin: () => () => {}, look: () => {} },
        findCaller: async () => caller,
        table: {
          claimExpired: async () => [],
          listHeads: async (wanted: { lane: string }[]) =>
            wanted.map(({ lane }) => ({
              heads: lane === 'single' ? [toHead('a', { mode: 'test' })] : [],
              isPart: false,
              elsewhere: [],
            })),
          claim: async () => [toClaimed('a', { mode: 'test', reference: REFERENCE, subject, question })],
        },
      },
    }
    const worker = createQueueWorker(deps as never, {
      owner: 'node',
      onFailure: (error) => expect(error).toBeUndefined(),
      now: () => clock.now,
      monotonicNow: () => clock.now,
    })
    /** The number of attempts that were made in a round at this time. */
    const round = async (at: number, result: string) => {
      clock.now = at
      results.unshift(result)
      const before = attempts
      await worker.beginDue()
      await worker.idle()
      return attempts - before
    }
    return round
  }

  it('is not asked for a minute', async () => {
    const round = openCapped()
    expect(await round(0, 'spend_cap')).toBe(1)
    expect([
      await round(1, 'timeout'),
      await round(59_999, 'timeout'),
      await round(60_000, 'timeout'),
    ]).toEqual([0, 0, 1])
    expect(await round(60_001, 'timeout')).toBe(1)
  })
})
