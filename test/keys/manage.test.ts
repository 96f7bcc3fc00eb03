import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { changeKey, createKey, type KeyDeps, revokeKey, rollKey, toKeyView } from '../../src/keys/manage.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const OPTIONS = {
  name: 'Shop',
  mode: 'live',
  scopes: ['catalogue:read'],
  expiresAt: undefined,
  allowedIps: undefined,
} as const

describe.each(['SQLite', 'PostgreSQL'])('keys on %s', (engine) => {
  const run = describe.skipIf(engine === 'PostgreSQL' && !hasPostgres())
  run('are managed', () => {
    let server: TestApp
    let deps: KeyDeps
    beforeAll(async () => {
      const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
      server = await openTestApp(database)
      deps = { ...server.context, keyring: server.context.keyring() }
    })
    afterAll(() => server.close())

    const create = async (options: Partial<KeyRow> = {}) =>
      (await createKey(deps, { ...OPTIONS, ...options })).row
    const find = async (id: string) => (await deps.store.keys.find(id)) as KeyRow
    const listPhases = async (id: string) => {
      const sql = 'SELECT phase, outcome, key_id, detail FROM audit ORDER BY chain, sequence'
      const rows = await server.context.store.database.prepare(sql).all()
      return rows.flatMap(({ phase, outcome, key_id, detail }) =>
        key_id === id || String(detail).includes(id) ? [`${phase} ${outcome}`] : [],
      )
    }
    /** Another change is stored while the first one is being audited. */
    const meanwhile = (work: () => Promise<unknown>): KeyDeps => {
      let isFirst = true
      const record: typeof deps.audit.record = async (entries) => {
        await deps.audit.record(entries)
        if (isFirst) await work()
        isFirst = false
      }
      return { ...deps, audit: { ...deps.audit, record } }
    }

    it('a change that loses against another one is refused, and the log says so', async () => {
      const { id } = await create()
      const first = meanwhile(async () => changeKey(deps, id, { name: 'Other' }))
      await expect(changeKey(first, id, { name: 'Mine' })).rejects.toThrow('changed by another meanwhile')
      expect((await find(id)).name).toBe('Other')
      expect((await listPhases(id)).filter((text) => text.startsWith('key_changed'))).toEqual([
        'key_changed ok',
        'key_changed ok',
        'key_changed refused',
      ])
    })

    it('a roll that loses against a revocation is refused, and the log says so', async () => {
      const { id } = await create()
      const first = meanwhile(() => revokeKey(deps, id))
      await expect(rollKey(first, id, DAY_MS)).rejects.toThrow('meanwhile')
      expect(await find(id)).toMatchObject({ rolledTo: undefined })
      expect(await listPhases(id)).toEqual(
        expect.arrayContaining(['key_rolled ok', 'key_revoked ok', 'key_rolled refused']),
      )
    })

    it('a change that changes nothing is refused before it is logged', async () => {
      const { id } = await create()
      await expect(changeKey(deps, id, { name: 'Shop' })).rejects.toThrow('has these options already')
      expect(await listPhases(id)).not.toContain('key_changed ok')
    })

    it('neither a change nor a roll is made of a key that may not be given', async () => {
      const { id } = await create()
      const strict = {
        ...deps,
        allow: () => {
          throw new Error('not allowed')
        },
      }
      await expect(changeKey(strict, id, { name: 'Mine' })).rejects.toThrow('not allowed')
      await expect(rollKey(strict, id, DAY_MS)).rejects.toThrow('not allowed')
      expect(await find(id)).toMatchObject({ name: 'Shop', rolledTo: undefined })
    })

    it('a key is revoked once', async () => {
      const { id } = await create()
      await revokeKey(deps, id)
      await expect(revokeKey(deps, id)).rejects.toThrow('was revoked before')
      expect((await listPhases(id)).filter((text) => text.startsWith('key_revoked'))).toEqual([
        'key_revoked ok',
      ])
    })

    it('a successor lives as long as its key was made for, and a key without an end has one without', async () => {
      const endless = await create()
      const { row: next } = await rollKey(deps, endless.id, DAY_MS)
      expect(next).toMatchObject({ expiresAt: undefined, lifetimeMs: undefined })
      const limited = await create({ expiresAt: Date.now() + 3 * DAY_MS })
      const { row: successor } = await rollKey(deps, limited.id, DAY_MS)
      const lifetime = (successor.expiresAt ?? 0) - successor.createdAt
      expect(Math.abs(lifetime - 3 * DAY_MS)).toBeLessThan(DAY_MS / 2)
      expect(successor.lifetimeMs).toBe(limited.lifetimeMs)
    })

    it('the view of a rolled key names its successor, and that of another says null', async () => {
      const { id } = await create()
      expect(toKeyView(await find(id))).toMatchObject({ rolled_to: null })
      const { row } = await rollKey(deps, id, DAY_MS)
      expect(toKeyView(await find(id))).toMatchObject({ rolled_to: row.id })
      await expect(rollKey(deps, id, DAY_MS)).rejects.toThrow(`its successor is ${row.id}`)
      await expect(changeKey(deps, id, { name: 'Mine' })).rejects.toThrow(`Change its successor ${row.id}`)
    })
  })
})
