import cluster from 'node:cluster'
import { expect, it, onTestFinished } from 'vitest'
import {
  createLeasedRateLimit,
  createWindows,
  openRateLimit,
  type RateLimit,
  relayLeases,
} from '../../src/keys/rate-limit.ts'

it('a new minute ends in 60 seconds, also when the clock has fractions that a sum rounds up', async () => {
  const now = () => 48_806.645969
  expect(now() + 60_000 - now()).toBeGreaterThan(60_000)
  const windows = createWindows(10, now)
  const { take } = createLeasedRateLimit(10, async (key) => windows.take(key, 1), now)
  expect(await take('a')).toEqual({ allowed: true, remaining: 9, resetS: 60 })
})

it('a lease ends with its minute', async () => {
  let now = 0
  const windows = createWindows(2, () => now)
  const { take } = createLeasedRateLimit(
    2,
    async (key) => windows.take(key, 2),
    () => now,
  )
  expect(await take('a')).toEqual({ allowed: true, remaining: 1, resetS: 60 })
  now = 59_999
  expect(take('a')).toEqual({ allowed: true, remaining: 0, resetS: 1 })
  expect(take('a')).toEqual({ allowed: false, remaining: 0, resetS: 1 })
  now = 60_000
  expect(await take('a')).toEqual({ allowed: true, remaining: 1, resetS: 60 })
})

it('the limit is off, shared through PostgreSQL, or counted by this process', async () => {
  const leased: string[] = []
  const lease = async ({ keyId }: { keyId: string }) => {
    leased.push(keyId)
    return { tokens: 1, left: 4, endsInMs: 60_000, endsAt: 1 }
  }
  const open = (rateLimit: number | 'off', databaseUrl?: string) => {
    const limit = openRateLimit(
      { rateLimit, databaseUrl },
      { rates: { lease } as never },
      { countProcesses: () => 1 },
    )
    onTestFinished(() => limit?.close?.())
    return limit as RateLimit
  }
  expect(open('off', 'postgres://x')).toBeUndefined()
  expect(open(5).take('a')).toEqual({ allowed: true, remaining: 4, resetS: 60 })
  expect(leased).toEqual([])
  expect(await open(5, 'postgres://x').take('b')).toMatchObject({ allowed: true, remaining: 4 })
  expect(leased).toEqual(['b'])
})

it('the primary process grants each worker a part of a twentieth of the limit at a time', () => {
  const before = cluster.listeners('message')
  relayLeases(80, 2)
  const [relay] = cluster.listeners('message').filter((each) => !before.includes(each))
  onTestFinished(() => void cluster.off('message', relay as () => void))
  const sent: unknown[] = []
  const ask = (message: unknown, isConnected = true) =>
    relay?.({ isConnected: () => isConnected, send: (answer: unknown) => sent.push(answer) }, message)
  ask({ lease: 'request', id: 7, key: 'a' })
  expect(sent).toEqual([{ lease: 'granted', id: 7, granted: { tokens: 2, left: 78, endsInMs: 60_000 } }])
  ask({ lease: 'request', id: 8, key: 'a' }, false)
  ask({ lease: 'other', id: 9, key: 'a' })
  ask(undefined)
  expect(sent).toHaveLength(1)
  ask({ lease: 'request', id: 10, key: 'a' })
  expect(sent[1]).toMatchObject({ id: 10, granted: { tokens: 2, left: 76 } })
})

it('a small limit is granted one by one', () => {
  const before = cluster.listeners('message')
  relayLeases(3, 4)
  const [relay] = cluster.listeners('message').filter((each) => !before.includes(each))
  onTestFinished(() => void cluster.off('message', relay as () => void))
  const sent: unknown[] = []
  relay?.(
    { isConnected: () => true, send: (answer: unknown) => sent.push(answer) },
    { lease: 'request', id: 1, key: 'a' },
  )
  expect(sent).toMatchObject([{ granted: { tokens: 1, left: 2 } }])
})

it('a worker asks the primary process for leases, and each answer is that of its request', async () => {
  const before = process.listeners('message')
  const { take } = createLeasedRateLimit(10)
  const [receive] = process.listeners('message').filter((each) => !before.includes(each))
  onTestFinished(() => void process.off('message', receive as () => void))
  const sent: { lease: string; id: number; key: string }[] = []
  const { send } = process
  // Only while nothing is awaited: Vitest may use it too.
  process.send = ((message: (typeof sent)[number]) => sent.push(message)) as never
  const waits = [take('a'), take('b')]
  if (send) process.send = send
  else delete process.send
  expect(sent).toEqual([
    { lease: 'request', id: 1, key: 'a' },
    { lease: 'request', id: 2, key: 'b' },
  ])
  const answer = (message: unknown) => receive?.(message as never, undefined as never)
  answer({ lease: 'other', id: 1, granted: { tokens: 9, left: 9, endsInMs: 60_000 } })
  answer({ lease: 'granted', id: 2, granted: { tokens: 3, left: 5, endsInMs: 60_000 } })
  answer({ lease: 'granted', id: 1, granted: { tokens: 0, left: 0, endsInMs: 60_000 } })
  expect(await Promise.all(waits)).toEqual([
    { allowed: false, remaining: 0, resetS: 60 },
    { allowed: true, remaining: 7, resetS: 60 },
  ])
})

it('requests of a key that come together wait for one lease, and then for the next', async () => {
  let leases = 0
  const { take } = createLeasedRateLimit(
    10,
    async () => {
      leases += 1
      return { tokens: 2, left: 10 - 2 * leases, endsInMs: 60_000 }
    },
    () => 0,
  )
  const allowed = await Promise.all([take('a'), take('a'), take('a')])
  expect(allowed.map(({ remaining }) => remaining)).toEqual([9, 8, 7])
  expect(leases).toBe(2)
})
