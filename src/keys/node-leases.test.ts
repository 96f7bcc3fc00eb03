import { afterEach, expect, it } from 'vitest'
import type { RateTable } from '../store/rate-table.ts'
import { createNodeRateLimit } from './node-leases.ts'

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

it('while the database does not answer, each node has its share, which is counted later', async () => {
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
  // The first knows the minute: 80 were left. The second does not.
  const [here, there] = [await count(one), await count(other)]
  expect([here, there]).toEqual([40, 50])
  state.isDown = false
  now += 1000
  expect(await count(one)).toBe(40)
  expect(await count(other)).toBe(0)
})
