import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { withDefaults } from '../../src/keys/options.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

let count = 0

/** A key with an id of its own. */
function toRow(changes: Partial<KeyRow> = {}): KeyRow {
  count += 1
  const id = `key${String(count).padStart(5, '0')}`
  return {
    ...withDefaults({ allowedIps: ['10.0.0.1'], hide: ['religion'], subjectsPerDay: 7 }),
    id,
    mode: 'live',
    name: `Shop ${count}`,
    hash: Buffer.alloc(32, count),
    scopes: ['kyc:nin', 'catalogue:read'],
    createdAt: 1000 + count,
    expiresAt: undefined,
    lifetimeMs: undefined,
    revokedAt: undefined,
    rolledTo: undefined,
    lineage: id,
    ...changes,
  }
}

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())
  const find = async (id: string) => {
    const row = await store.keys.find(id)
    return row && { ...row, hash: Buffer.from(row.hash) }
  }
  const insert = async (changes: Partial<KeyRow> = {}) => {
    const row = toRow(changes)
    await store.keys.insert(row)
    return (await find(row.id)) as KeyRow
  }

  it('a key is found as it was stored, with all its options, and no other id is found', async () => {
    const row = toRow({ expiresAt: 5000, lifetimeMs: 4000, owner: 'Risk', requireMatch: 'dob' })
    await store.keys.insert(row)
    expect(await find(row.id)).toEqual(row)
    for (const id of ['unknown0', '', '--------', row.id.toUpperCase(), `${row.id} `])
      expect(await store.keys.find(id)).toBeUndefined()
  })

  it('a key of an older version, without a lineage, is the first of its own', async () => {
    const { id } = await insert()
    await store.database.prepare('UPDATE api_keys SET lineage = NULL WHERE id = $1').run(id)
    expect((await find(id))?.lineage).toBe(id)
    expect((await store.keys.list()).find((row) => row.id === id)?.lineage).toBe(id)
  })

  it('keys are listed by the time of their creation, and by their ids', async () => {
    const later = await insert({ createdAt: 99_000 })
    const [b, a] = [await insert({ createdAt: 98_000 }), await insert({ createdAt: 98_000 })]
    const ids = (await store.keys.list()).map(({ id }) => id)
    expect(ids.slice(-3)).toEqual([...[a.id, b.id].toSorted(), later.id])
  })

  it('a key is revoked once, and keeps the time', async () => {
    const { id } = await insert()
    const other = await insert()
    expect(await store.keys.revoke(id, 7000)).toBe(true)
    expect(await store.keys.revoke(id, 8000)).toBe(false)
    expect(await store.keys.revoke('unknown0', 8000)).toBe(false)
    expect((await find(id))?.revokedAt).toBe(7000)
    expect((await find(other.id))?.revokedAt).toBeUndefined()
  })

  it('a key is changed only if it is still what it was, and no other key is', async () => {
    const [row, other] = [await insert(), await insert()]
    const changed = { ...row, name: 'Other name', note: 'a note', allowedIps: undefined }
    expect(await store.keys.change(row, changed)).toBe(true)
    expect(await find(row.id)).toEqual(changed)
    expect(await store.keys.change(row, { ...row, name: 'Late' })).toBe(false)
    expect(await store.keys.change(toRow(), row)).toBe(false)
    expect(await find(row.id)).toEqual(changed)
    expect(await find(other.id)).toEqual(other)
  })

  it.each([
    ['without an end ends then', undefined, 6000, 6000],
    ['that ends later ends then', 6001, 6000, 6000],
    ['that ends sooner keeps its end', 5999, 6000, 5999],
  ])('a rolled key %s', async (_name, expiresAt, endsAt, expected) => {
    const [row, other] = [await insert({ expiresAt }), await insert({ expiresAt })]
    const successor = toRow({ lineage: row.lineage })
    await store.keys.roll(row, successor, endsAt)
    expect(await find(row.id)).toEqual({ ...row, rolledTo: successor.id, expiresAt: expected })
    expect(await find(successor.id)).toEqual(successor)
    expect(await find(other.id)).toEqual(other)
  })

  it.each([
    ['was rolled', (row: KeyRow) => store.keys.roll(row, toRow(), 6000)],
    ['was revoked', (row: KeyRow) => store.keys.revoke(row.id, 5000)],
    ['was changed', (row: KeyRow) => store.keys.change(row, { ...row, name: 'Other' })],
  ])('a key that %s meanwhile is not rolled, and has no successor', async (_name, work) => {
    const row = await insert()
    await work(row)
    const [before, successor] = [await find(row.id), toRow()]
    await expect(store.keys.roll(row, successor, 7000)).rejects.toThrow('meanwhile')
    expect(await find(row.id)).toEqual(before)
    expect(await find(successor.id)).toBeUndefined()
  })

  it('a key that was rolled or revoked is not rolled, also if this is known', async () => {
    const revoked = await insert({ revokedAt: 5000 })
    const rolled = await insert({ rolledTo: 'some-key' })
    for (const row of [revoked, rolled])
      await expect(store.keys.roll(row, toRow(), 7000)).rejects.toThrow('meanwhile')
  })

  describe('the next expiry', () => {
    it('is the earliest after now of a live key that is neither revoked nor rolled', async () => {
      const now = 1_000_000
      expect(await store.keys.findNextExpiry(now)).toBeUndefined()
      await insert({ expiresAt: now })
      await insert({ expiresAt: now + 1, mode: 'test' })
      await insert({ expiresAt: now + 2, revokedAt: 1 })
      await insert({ expiresAt: now + 3, rolledTo: 'some-key' })
      expect(await store.keys.findNextExpiry(now)).toBeUndefined()
      await insert({ expiresAt: now + 20 })
      await insert({ expiresAt: now + 10 })
      expect(await store.keys.findNextExpiry(now)).toBe(now + 10)
      expect(await store.keys.findNextExpiry(now + 9)).toBe(now + 10)
      expect(await store.keys.findNextExpiry(now + 10)).toBe(now + 20)
    })
  })
})
