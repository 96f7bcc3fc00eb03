import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { createNodeRateLimit } from '../../src/keys/rate-limit.ts'
import type { RateTable } from '../../src/keys/rate-table.ts'

let now = 0
const open: { readonly close: () => void }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

/** The table in memory, with the same rules. */
function createTable() {
  let window = { used: 0, endsAt: Number.NEGATIVE_INFINITY }
  const state = { isDown: false, leases: 0 }
  const table: Pick<RateTable, 'lease' | 'giveBack'> = {
    lease: async ({ limit, wanted, owed }) => {
      if (state.isDown) throw new Error('down')
      state.leases += 1
      if (window.endsAt <= now) window = { used: 0, endsAt: now + 60_000 }
      window.used = Math.min(limit, window.used + owed)
      const tokens = Math.min(wanted, limit - window.used)
      window.used += tokens
      return { tokens, left: limit - window.used, endsInMs: window.endsAt - now, endsAt: window.endsAt }
    },
    giveBack: async (unused) => {
      if (state.isDown) throw new Error('down')
      for (const { endsAt, tokens } of unused) if (endsAt === window.endsAt) window.used -= tokens
    },
  }
  return { table, state }
}

function createCluster(limit: number, count: number) {
  const { table, state } = createTable()
  const nodes = Array.from({ length: count }, () =>
    createNodeRateLimit({ limit, table, countProcesses: () => count, now: () => now }),
  )
  open.push(...nodes)
  return { nodes, state }
}

/** Numbers that look random, the same in every run. */
function createRandom(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

it.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
  'nodes share one limit (random case %i)',
  async (seed) => {
    now = 0
    const random = createRandom(seed * 7919)
    const limit = 20 + random(2000)
    const { nodes } = createCluster(limit, 1 + random(5))
    const allowed: number[] = []
    for (let step = 0; step < 4 * limit; step++) {
      // Some nodes die with what they have leased, but the first one lives.
      const living = nodes.slice(0, Math.max(1, nodes.length - Math.floor(step / limit)))
      if ((await living[random(living.length)]?.take('a'))?.allowed) allowed.push(now)
      if (random(10) === 0) now += random(400)
      if (random(20) === 0) for (const node of living) await node.giveBack()
      if (now >= 59_000) break
    }
    expect(allowed.length).toBeLessThanOrEqual(limit)
    // One node is left, and asks until it is refused.
    const [last] = nodes
    for (let tries = 0; tries < limit + 5; tries++) if ((await last?.take('a'))?.allowed) allowed.push(now)
    expect(allowed.length).toBeLessThanOrEqual(limit)
    expect(allowed.length).toBeGreaterThanOrEqual(Math.floor(limit * 0.95))
  },
)

it('most requests wait for no lease, and one node gets exactly the limit', async () => {
  now = 0
  const { nodes, state } = createCluster(3000, 1)
  const [node] = nodes as [(typeof nodes)[0]]
  let waited = 0
  let allowed = 0
  for (let each = 0; each < 3500; each++) {
    const taken = node.take('a')
    if (taken instanceof Promise) waited += 1
    if ((await taken).allowed) allowed += 1
  }
  expect(allowed).toBe(3000)
  expect(waited).toBe(state.leases)
  expect(waited).toBeLessThan(40)
})

it('an idle node gives its portion back, and another one uses it', async () => {
  now = 0
  const { nodes } = createCluster(200, 2)
  const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  for (let each = 0; each < 4; each++) expect((await one.take('a')).allowed).toBe(true)
  let allowed = 4
  for (let each = 0; each < 200; each++) if ((await other.take('a')).allowed) allowed += 1
  expect(allowed).toBeLessThan(200)
  await one.giveBack()
  await one.giveBack()
  now += 1000
  for (let each = 0; each < 20; each++) if ((await other.take('a')).allowed) allowed += 1
  expect(allowed).toBe(200)
})

it('while the database does not answer, nodes together allow a tenth more, which is counted later', async () => {
  now = 0
  const { nodes, state } = createCluster(100, 2)
  const [one, other] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  for (let each = 0; each < 20; each++) await one.take('a')
  state.isDown = true
  const count = async (node: typeof one) => {
    let allowed = 0
    for (let each = 0; each < 200; each++) if ((await node.take('a')).allowed) allowed += 1
    return allowed
  }
  // One was left of the last lease.
  expect([await count(one), await count(other)]).toEqual([1 + 5, 5])
  // The caller need not wait for the end of the minute.
  expect(await one.take('a')).toEqual({ allowed: false, remaining: 0, resetS: 1 })
  now += 1000
  expect([await count(one), await count(other)]).toEqual([0, 0])
  state.isDown = false
  now += 1000
  // 21 were leased, and 5 assumed here. The 5 of the other are not known yet.
  expect(await count(one)).toBe(100 - 21 - 5)
  expect(await count(other)).toBe(0)
})

/** Nodes that can each be cut off from the table. */
function createCutCluster(limit: number, count: number) {
  const { table } = createTable()
  const cut = new Set<number>()
  const nodes = Array.from({ length: count }, (_, index) => {
    const reach = async <T>(work: () => Promise<T>): Promise<T> => {
      if (cut.has(index)) throw new Error('unreachable')
      return work()
    }
    const own: typeof table = {
      lease: (...args) => reach(() => table.lease(...args)),
      giveBack: (...args) => reach(() => table.giveBack(...args)),
    }
    return createNodeRateLimit({ limit, table: own, countProcesses: () => count, now: () => now })
  })
  open.push(...nodes)
  return { nodes, cut }
}

it.each(Array.from({ length: 60 }, (_, seed) => seed + 1))(
  'nodes that lose the database, all or some, never allow more than 1.1 times the limit (random case %i)',
  async (seed) => {
    now = 0
    const random = createRandom(seed * 104_729)
    const limit = 20 + random(1000)
    const count = 1 + random(5)
    const { nodes, cut } = createCutCluster(limit, count)
    const change = [
      () => void cut.add(random(count)),
      () => nodes.forEach((_node, index) => void cut.add(index)),
      () => cut.clear(),
      () => Promise.all(nodes.map((node) => node.giveBack())),
    ]
    let allowed = 0
    for (let step = 0; step < 6 * limit && now < 59_000; step++) {
      if ((await nodes[random(count)]?.take('a'))?.allowed) allowed += 1
      if (random(8) === 0) now += random(600)
      await change[random(100)]?.()
    }
    expect(allowed).toBeLessThanOrEqual(1.1 * limit)
    expect(allowed).toBeGreaterThan(0)
  },
)

/** What is unused is given back when the test says so, and not each second. */
function stopTimers() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
}

it('what no request has used for a second is given back, and the next portion is small again', async () => {
  stopTimers()
  now = 0
  const wanted: number[] = []
  const given: unknown[] = []
  const node = createNodeRateLimit({
    limit: 1000,
    table: {
      lease: async (request) => {
        wanted.push(request.wanted)
        return { tokens: request.wanted, left: 900, endsInMs: 60_000, endsAt: 77 }
      },
      giveBack: async (unused) => void given.push(...unused),
    },
    countProcesses: () => 1,
    now: () => now,
  })
  open.push(node)
  for (let count = 0; count < 5; count++) await node.take('a')
  expect(wanted).toEqual([1, 2, 4])
  await node.giveBack()
  await node.take('a')
  await node.giveBack()
  expect(given).toEqual([])
  await node.giveBack()
  expect(given).toEqual([{ keyId: 'a', endsAt: 77, tokens: 1 }])
  await node.giveBack()
  expect(given).toHaveLength(1)
  await node.take('a')
  expect(wanted.slice(3)).toEqual([2])
})

it('nothing is given back of a minute that is over, or of a portion that is used up', async () => {
  stopTimers()
  now = 0
  const given: unknown[] = []
  const node = createNodeRateLimit({
    limit: 1000,
    table: {
      lease: async ({ keyId }) => ({ tokens: keyId === 'a' ? 1 : 5, left: 0, endsInMs: 60_000, endsAt: 77 }),
      giveBack: async (unused) => void given.push(...unused),
    },
    countProcesses: () => 1,
    now: () => now,
  })
  open.push(node)
  await node.take('a')
  await node.take('b')
  await node.giveBack()
  now = 60_000
  await node.giveBack()
  expect(given).toEqual([])
})
