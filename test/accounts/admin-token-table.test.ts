import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AdminTokenRow } from '../../src/accounts/admin-token-table.ts'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, ENGINES } from '../engines.ts'

/** Larger than 32 bits, as times are. */
const NOW = 1_790_000_000_123

const toRow = (values: Partial<AdminTokenRow> = {}): AdminTokenRow => ({
  id: randomBytes(4).toString('hex'),
  name: 'deploy',
  hash: randomBytes(32),
  role: 'operator',
  allowedIps: undefined,
  madeBy: 'root (cli)',
  createdAt: NOW,
  expiresAt: NOW + 10,
  revokedAt: undefined,
  lastUsedAt: undefined,
  ...values,
})

describeEngines(ENGINES, (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())
  const find = async (id: string) => {
    const row = await store.adminTokens.find(id)
    return row && { ...row, hash: Buffer.from(row.hash) }
  }

  it('tokens are found and listed as they were created, newest first', async () => {
    const old = toRow({ allowedIps: ['10.0.0.0/8', '::1'], createdAt: NOW - 1 })
    const young = toRow({ role: 'owner', madeBy: 'ada' })
    for (const row of [old, young]) await store.adminTokens.insert(row)
    expect([await find(old.id), await find(young.id)]).toEqual([old, young])
    expect(await find('none')).toBeUndefined()
    expect((await store.adminTokens.list()).map(({ id }) => id)).toEqual([young.id, old.id])
  })

  it('a token is revoked once, of two at once too', async () => {
    const row = toRow()
    await store.adminTokens.insert(row)
    const done = await Promise.all([1, 2].map((at) => store.adminTokens.revoke(row.id, NOW + at)))
    expect(done.toSorted()).toEqual([false, true])
    expect((await find(row.id))?.revokedAt).toBeGreaterThan(NOW)
    expect(await store.adminTokens.revoke('none', NOW)).toBe(false)
  })

  it('the last use is stored', async () => {
    const row = toRow()
    await store.adminTokens.insert(row)
    await store.adminTokens.touch(row.id, NOW + 5)
    expect(await find(row.id)).toEqual({ ...row, lastUsedAt: NOW + 5 })
  })
})
