import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { packParts } from '../../src/ledger/commit.ts'
import { describeEngines, POSTGRES } from '../engines.ts'

/** Several nodes on one PostgreSQL, with clocks of their own. */
describeEngines([POSTGRES], (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  const toId = (name: Uint8Array, owner: string) => ({
    keyId: 'key00001',
    operation: 'verify_nin',
    name,
    owner,
  })
  const claim = (name: Uint8Array, owner: string, now = Date.now(), deadBefore?: number) =>
    store.idempotency.claim({
      ...toId(name, owner),
      fingerprint: Buffer.alloc(32, 2),
      subject: Buffer.alloc(32, 3),
      now,
      leaseMs: 30_000,
      expiresAt: now + DAY_MS,
      deadBefore,
    })
  const complete = (name: Uint8Array, owner: string) =>
    store.audit.append({
      rows: store.audit.packRows([]),
      parts: packParts(
        [
          {
            completion: { claim: toId(name, owner), sealed: randomBytes(40), expiresAt: Date.now() + DAY_MS },
          },
        ],
        0,
      ),
    })
  const sendHeartbeat = (owner: string) =>
    store.nodes.sendHeartbeat(
      {
        ...{ owner, node: owner, worker: 1, version: '1.2.3', inFlight: 0, requestsPerS: 0, lagMs: 0 },
        uptimeMs: 0,
      },
      Date.now(),
    )
  /** From now on, whatever time the statements before it took. */
  const setAge = (owner: string, ms: number) =>
    store.database.prepare('UPDATE nodes SET seen_at = shared_clock(0) - $2 WHERE owner = $1').run(owner, ms)

  /** Of a node whose heartbeats arrive. */
  const readDeadBefore = async () =>
    Number((await store.database.prepare('SELECT shared_clock(0) - 3000 AS at').get())?.at)
  const claimOfDead = async (name: Uint8Array, owner: string) =>
    claim(name, owner, Date.now(), await readDeadBefore())

  it.each([-10 * MINUTE_MS, -MINUTE_MS, MINUTE_MS, 10 * MINUTE_MS])(
    'a node whose clock differs by %s ms does not take a running claim',
    async (skewMs) => {
      const name = randomBytes(32)
      expect((await claim(name, 'a:1')).state).toBe('claimed')
      expect((await claim(name, 'b:1', Date.now() + skewMs)).state).toBe('running')
      const other = randomBytes(32)
      expect((await claim(other, 'b:2', Date.now() + skewMs)).state).toBe('claimed')
      expect((await claim(other, 'a:2')).state).toBe('running')
    },
  )

  it('a claim is taken over when its process is dead, and only then', async () => {
    const name = randomBytes(32)
    await sendHeartbeat('host:1:dead')
    await sendHeartbeat('host:1:dead2')
    expect((await claim(name, 'host:1:dead2:7')).state).toBe('claimed')
    // Another process whose name begins like that of the owner.
    await setAge('host:1:dead', MINUTE_MS)
    expect((await claimOfDead(name, 'b:1')).state).toBe('running')
    // The database stands still after a node has judged, and before it reads the claim: all look dead then.
    const judged = await readDeadBefore()
    await store.database
      .prepare('UPDATE nodes SET seen_at = $1 WHERE owner = $2')
      .run(judged + 1, 'host:1:dead2')
    expect((await claim(name, 'b:1', Date.now(), judged)).state).toBe('running')
    await setAge('host:1:dead2', 3000)
    expect((await claim(name, 'b:1')).state).toBe('running')
    expect(await claimOfDead(name, 'b:1')).toEqual({ state: 'claimed', paidCalls: 0, lastFailure: null })
    expect((await claimOfDead(name, 'c:1')).state).toBe('running')
    // The owner was only slow: it comes too late.
    await sendHeartbeat('host:1:dead2')
    expect((await complete(name, 'host:1:dead2:7')).late).toEqual([0])
    expect((await complete(name, 'b:1')).late).toEqual([])
    expect((await claim(name, 'c:1')).state).toBe('done')
  })

  it('a process that never sent a heartbeat keeps its claim until the lease ends', async () => {
    const name = randomBytes(32)
    expect((await claim(name, 'old:1:a:1')).state).toBe('claimed')
    expect((await claim(name, 'b:1')).state).toBe('running')
    await store.database.prepare('UPDATE idempotency SET lease_until = lease_until - 30000').run()
    expect((await claim(name, 'b:1')).state).toBe('claimed')
  })
})
