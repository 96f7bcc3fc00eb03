import { createSecretKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createToken, toTokenId } from '../../src/accounts/accounts.ts'
import { createSessions, toSessionMacs, WITHOUT_ACTIVITY } from '../../src/accounts/sessions.ts'
import { claimChain } from '../../src/audit/chain-claim.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { toCommandAuthor } from '../../src/contract/free-text.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

/** One process stored data while its clock was a day ahead. Another one reads it after the clock was corrected. */
describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  const appendRow = (chain: string, at: number) =>
    store.audit.append({
      rows: store.audit.packRows(
        linkEntries(chain, EMPTY_HEAD, [{ phase: 'outcome', time: new Date(at).toISOString() }]),
      ),
    })

  it('an audit chain is extended only by later rows', async () => {
    const first = await claimChain(store.audit, 'node', 'host:1:a')
    await appendRow(first, Date.now() + DAY_MS)
    await store.audit.release(first, 'host:1:a', Date.now())
    const second = await claimChain(store.audit, 'node', 'host:2:b')
    expect(second).not.toBe(first)
    await appendRow(second, Date.now())
    await store.audit.release(second, 'host:2:b', Date.now())
    expect(await claimChain(store.audit, 'node', 'host:3:c')).toBe(second)
  })

  it('the lease of an Idempotency-Key ends', async () => {
    const isShared = store.database.dialect === 'postgres'
    const claim = (owner: string, now: number) =>
      store.idempotency.claim({
        keyId: 'key00001',
        operation: 'verify_nin',
        name: Buffer.alloc(32, 1),
        fingerprint: Buffer.alloc(32, 2),
        subject: Buffer.alloc(32, 3),
        owner,
        now,
        leaseMs: 30_000,
        expiresAt: now + DAY_MS,
      })
    const now = Date.now()
    expect((await claim('ahead', now + DAY_MS)).state).toBe('claimed')
    // In PostgreSQL the clock of the server counts, and the lease has just begun.
    expect((await claim('here', now)).state).toBe(isShared ? 'running' : 'claimed')
    // A node whose clock is a little ahead keeps its lease.
    expect((await claim('there', now - 60_000)).state).toBe('running')
  })

  it('a session has ended', async () => {
    const key = createSecretKey(randomBytes(32))
    const sessions = createSessions(store.accounts, () => key)
    const id = randomBytes(32)
    const now = Date.now()
    const invitation = { id, role: 'owner' as const, account: undefined, madeBy: toCommandAuthor() }
    await store.accounts.invite({ ...invitation, createdAt: now, expiresAt: now + 1000 })
    const password = randomBytes(8).toString('hex')
    await store.accounts.accept(id, {
      name: 'ada',
      role: 'owner',
      password,
      createdAt: now,
      lastSeenAt: undefined,
    })
    const open = async (at: number) => {
      const token = createToken()
      const session = { id: toTokenId(key, token) as Uint8Array, account: 'ada' }
      const macs = toSessionMacs(key, { ...session, method: 'password', confirmedAt: at })
      await store.accounts.open({ ...session, password, at, macs })
      return sessions.findActor(token, WITHOUT_ACTIVITY)
    }
    expect((await open(now))?.name).toBe('ada')
    expect(await open(now + DAY_MS)).toBeUndefined()
  })
})
