import { afterEach, beforeEach, expect, it } from 'vitest'
import { openNodes } from '../../src/context/nodes.ts'
import { openStore, type Store } from '../../src/context/store.ts'
import { HOUR_MS } from '../../src/contract/time.ts'
import type { Heartbeat, NodeTable } from '../../src/database/node-table.ts'
import { describeEngines, ENGINES, newFolder, POSTGRES } from '../engines.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const beat = (owner: string, changes: Partial<Heartbeat> = {}): Heartbeat => ({
  owner,
  node: 'node',
  worker: 1,
  version: '1.2.3',
  inFlight: 4,
  requestsPerS: 50,
  lagMs: 600,
  uptimeMs: 7000,
  ...changes,
})

describeEngines(ENGINES, (engine) => {
  let store: Store
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterEach(() => store.close())

  const age = (owner: string, ms: number) =>
    store.database.prepare('UPDATE nodes SET seen_at = seen_at - $2 WHERE owner = $1').run(owner, ms)

  it('a process has one row, which a heartbeat renews', async () => {
    const now = Date.now()
    await store.nodes.sendHeartbeat(beat('a:1'), now)
    await age('a:1', HOUR_MS)
    const [old] = await store.nodes.list(now)
    expect(old).toMatchObject({ owner: 'a:1', isAlive: false })
    await store.nodes.sendHeartbeat(beat('a:1', { inFlight: 5, requestsPerS: 60, lagMs: 0 }), now)
    const [row, ...others] = await store.nodes.list(now)
    expect(others).toEqual([])
    expect(row).toMatchObject({ owner: 'a:1', node: 'node', worker: 1, version: '1.2.3', isAlive: true })
    expect(row).toMatchObject({ inFlight: 5, requestsPerS: 60, lagMs: 0, startedAt: old?.startedAt })
    expect(Math.abs((old?.seenAt ?? 0) + HOUR_MS - 7000 - (old?.startedAt ?? 0))).toBeLessThanOrEqual(1)
  })

  it('processes that died more than an hour ago are forgotten', async () => {
    const now = Date.now()
    for (const owner of ['a', 'b', 'c']) await store.nodes.sendHeartbeat(beat(owner), now)
    await age('a', HOUR_MS + 10_000)
    await age('b', HOUR_MS - 600_000)
    expect(await store.nodes.deleteExpired(now)).toBe(1)
    expect((await store.nodes.list(now)).map(({ owner, isAlive }) => [owner, isAlive])).toEqual([
      ['b', false],
      ['c', true],
    ])
    await store.nodes.leave('c')
    expect((await store.nodes.list(now)).map(({ owner }) => owner)).toEqual(['b'])
  })

  it('a process counts the living ones, and removes its row when it closes', async () => {
    const now = Date.now()
    for (const owner of ['b:1', 'c:1', 'd:1'])
      await store.nodes.sendHeartbeat(beat(owner, { node: owner.slice(0, 1) }), now)
    await store.nodes.sendHeartbeat(beat('b:2', { node: 'b', worker: 2 }), now)
    await age('d:1', HOUR_MS / 2)
    const nodes = await openNodes({
      table: store.nodes,
      self: { owner: 'a:1', node: 'a', worker: 1 },
      learning: [{ learntAt: () => performance.now() - 2000 }, { learntAt: () => Number.POSITIVE_INFINITY }],
    })
    expect([nodes.count(), nodes.countProcesses()]).toEqual([3, 4])
    const mine = (await store.nodes.list(now)).find(({ owner }) => owner === 'a:1')
    expect(mine).toMatchObject({ inFlight: 0, isAlive: true })
    expect(mine?.lagMs).toBeGreaterThanOrEqual(1000)
    await nodes.close()
    expect((await store.nodes.list(now)).map(({ owner }) => owner)).not.toContain('a:1')
  })
})

describeEngines([POSTGRES], (engine) => {
  it('the clock of the database decides, not that of the process', async () => {
    const store = await (await engine.createPlace()).open()
    const now = Date.now()
    await store.nodes.sendHeartbeat(beat('behind'), now - HOUR_MS)
    await store.nodes.sendHeartbeat(beat('ahead'), now + HOUR_MS)
    for (const clock of [now - HOUR_MS, now, now + HOUR_MS])
      expect((await store.nodes.list(clock)).map(({ isAlive }) => isAlive)).toEqual([true, true])
    await store.close()
  })
})

it('a process judges others once its heartbeats were regular for as long as a dead one sends none', async () => {
  let [now, beats] = [0, 0]
  const seen: (number | undefined)[] = []
  // The sixth waited for a database that stood still.
  const sendHeartbeat = async () => {
    now += ++beats === 6 ? 25 : 10
  }
  const list = async () => {
    if (beats > 1) seen.push(nodes.deadBefore())
    return [{ owner: 'a:1', seenAt: 1000 + now, isAlive: true }]
  }
  const table = { heartbeatMs: 10, deadMs: 30, sendHeartbeat, list, leave: async () => {} }
  const nodes = await openNodes({
    ...{ table: table as unknown as NodeTable, learning: [], monotonicNow: () => now },
    self: { owner: 'a:1', node: 'a', worker: 1 },
  })
  await expect.poll(() => seen.length).toBeGreaterThanOrEqual(8)
  // Each before its own time is read: that of the heartbeat before it.
  expect(seen.slice(0, 8)).toEqual([undefined, undefined, 1000, 1010, undefined, undefined, undefined, 1065])
  await nodes.close()
  now += 20
  expect(nodes.deadBefore()).toBeUndefined()
})

it.skipIf(!hasPostgres())('heartbeats do not wait for requests that use every connection', async () => {
  const databaseConnections = 3
  const options = { dataDir: newFolder(), databaseUrl: await createTestDatabase() }
  const store = await openStore({ ...options, writerThread: true, databaseConnections })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const open: Promise<void>[] = []
  for (let each = 1; each < databaseConnections; each++) {
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    open.push(
      store.database.transaction(async (tx) => {
        await tx.prepare('SELECT 1').get()
        resolve()
        await released
      }),
    )
    await begun
  }
  let isServed = false
  const request = store.meta.read().then(() => {
    isServed = true
  })
  await store.nodes.sendHeartbeat(beat('a:1'), Date.now())
  expect(await store.nodes.list(Date.now())).toMatchObject([{ owner: 'a:1', isAlive: true }])
  expect(isServed).toBe(false)
  release()
  await Promise.all([...open, request])
  await store.close()
})
