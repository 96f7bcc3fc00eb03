import { afterEach, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { changeKey, rollKey } from '../../src/keys/manage.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const open: TestApp[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

/** A server on a real socket with a registry of twenty people, and a key that was rolled twice. */
async function openRolled(
  engine: string,
  settings: Record<string, string> = {},
  rights: Partial<KeyRow> = {},
) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, ...settings })
  open.push(server)
  const { context } = server
  const records = Array.from({ length: 20 }, (_each, index) => {
    const nin = String(61_000_000_000 + index)
    return sealEntry(context.keyring(), 'nin', nin, {
      record: toNinRecord(nin, PHONE.slice(1)),
      mediaId: null,
    })
  })
  await context.store.registry.save({ records, media: [], at: Date.now() })
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const first = await server.createKey({ mode: 'live', ...rights })
  const roll = async (key: string) =>
    (await rollKey({ ...context, keyring: context.keyring() }, key.slice(9, 17), DAY_MS)).text
  const verify = (
    key: string,
    index: number,
    phone = PHONE,
    headers: Record<string, string> = {},
    details: object = {},
  ) =>
    fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ nin: String(61_000_000_000 + index), phone, ...details }),
    })
  return { server, first, roll, verify }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a key that was rolled, on %s', (engine) => {
  it('does not get back what a change at the same moment took from it', async () => {
    const { server, first } = await openRolled(engine)
    const { context } = server
    const id = first.slice(9, 17)
    const outcomes: unknown[] = []
    // The other change is made while the roll writes its audit row.
    const record = async (entries: readonly AuditEntry[]) => {
      outcomes.push(...entries.map(({ outcome }) => outcome))
      if (outcomes.length === 1) await changeKey(context, id, { allowedIps: ['203.0.113.7'] })
    }
    const rolling = rollKey({ ...context, keyring: context.keyring(), audit: { record } }, id, DAY_MS)
    await expect(rolling).rejects.toThrow('changed')
    expect(outcomes).toEqual(['ok', 'refused'])
    const rows = (await context.store.keys.list()).filter(({ mode }) => mode === 'live')
    expect(rows.map(({ allowedIps, rolledTo }) => [allowedIps, rolledTo])).toEqual([
      [['203.0.113.7'], undefined],
    ])
  })

  it('has a successor that lives as long as it was made for, however old it was', async () => {
    const { server, first } = await openRolled(engine, {})
    const context = { ...server.context, keyring: server.context.keyring() }
    const { keys, database } = context.store
    const [id, lifetimeMs] = [first.slice(9, 17), 365 * DAY_MS]
    /** As if the key had been created and changed earlier. */
    const age = (days: number) =>
      database
        .prepare('UPDATE api_keys SET created_at = created_at - $1, expires_at = expires_at - $1')
        .run(days * DAY_MS)
    const change = (expiresAt: number | undefined) => changeKey(context, id, { expiresAt })
    const roll = async (of: string, changes = {}) => (await rollKey(context, of, DAY_MS, changes)).row
    await age(90)
    // Its expiry is now 455 days after its creation.
    const given = (await change(Date.now() + lifetimeMs)).lifetimeMs ?? 0
    expect(Math.round(given / DAY_MS)).toBe(365)
    await age(10)
    const second = await roll(id)
    expect([second.lifetimeMs, Math.round(((second.expiresAt ?? 0) - Date.now()) / DAY_MS)]).toEqual([
      given,
      365,
    ])
    expect((await keys.find(second.id))?.lifetimeMs).toBe(given)
    const third = await roll(second.id, { expiresAt: Date.now() + 30 * DAY_MS })
    expect(Math.round((third.lifetimeMs ?? 0) / DAY_MS)).toBe(30)
    const fourth = await roll(third.id, { expiresAt: undefined })
    expect([fourth.lifetimeMs, (await roll(fourth.id)).expiresAt]).toEqual([undefined, undefined])
  })

  it('of an older version has a successor with the time from its creation to its expiry', async () => {
    const { server } = await openRolled(engine)
    const context = { ...server.context, keyring: server.context.keyring() }
    const old = await server.createKey({ mode: 'live', expiresAt: Date.now() + 40 * DAY_MS })
    await context.store.database.prepare('UPDATE api_keys SET lifetime_ms = NULL').run()
    const { row } = await rollKey(context, old.slice(9, 17), DAY_MS)
    expect(Math.round((row.lifetimeMs ?? 0) / DAY_MS)).toBe(40)
  })

  it('counts the failed matches of its predecessors', async () => {
    const { first, roll, verify } = await openRolled(engine)
    const keys = [first, await roll(first)]
    keys.push(await roll(keys[1] ?? ''))
    const statuses: number[] = []
    for (const guess of [0, 1, 2, 3, 4, 5])
      statuses.push((await verify(keys[guess % 3] ?? '', 0, `0803000000${guess}`)).status)
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
  })

  it('requires the same details to match', async () => {
    const { first, roll, verify } = await openRolled(engine, {}, { requireMatch: 'both' })
    const last = await roll(await roll(first))
    const { first_name, last_name, date_of_birth } = toNinRecord('61000000000', PHONE.slice(1)).personal_info
    const right = { first_name, last_name, date_of_birth }
    const ask = async (details: object) => {
      const answer = await verify(last, 0, PHONE, {}, details)
      const { code, errors = {} } = (await answer.json()) as { code?: string; errors?: object }
      return [answer.status, code, Object.keys(errors)]
    }
    expect(await ask({})).toEqual([422, 'validation_failed', ['first_name', 'last_name', 'date_of_birth']])
    expect(await ask({ ...right, date_of_birth: '1901-01-01' })).toEqual([422, 'not_verified', []])
    expect(await ask(right)).toEqual([200, undefined, []])
  })

  it('counts the people that its predecessors asked about today', async () => {
    const { first, roll, verify } = await openRolled(engine, {}, { subjectsPerDay: 3 })
    const asked = [await verify(first, 0), await verify(first, 1)]
    const second = await roll(first)
    asked.push(
      await verify(second, 1),
      await verify(second, 2),
      await verify(second, 3),
      await verify(first, 4),
    )
    expect(asked.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429, 429])
    expect(await asked[4]?.json()).toMatchObject({ code: 'quota_exceeded' })
  })

  it('shares the rate limit of its predecessor', async () => {
    const { first, roll, verify } = await openRolled(engine, { TABBAT_RATE_LIMIT: '3' })
    const second = await roll(first)
    const statuses: number[] = []
    for (const key of [first, second, first, second]) statuses.push((await verify(key, 0)).status)
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('gets the stored response of an Idempotency-Key, and the audit names the key of the request', async () => {
    const { server, first, roll, verify } = await openRolled(engine)
    const header = { 'idempotency-key': 'order-1' }
    const answer = await verify(first, 0, PHONE, header)
    const second = await roll(first)
    const again = await verify(second, 0, PHONE, header)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const [one, two] = [await answer.text(), await again.text()]
    expect(two).toBe(one)
    const rows = await server.context.store.audit.byReference(JSON.parse(one).data.request_reference)
    expect(rows.map(({ phase, key_id }) => `${phase} ${key_id}`)).toEqual([
      `outcome ${first.slice(9, 17)}`,
      `replay ${second.slice(9, 17)}`,
    ])
  })

  it('shares nothing with an unrelated key', async () => {
    const { server, first, verify } = await openRolled(engine, { TABBAT_RATE_LIMIT: '1' })
    const other = await server.createKey({ mode: 'live' })
    expect([(await verify(first, 0)).status, (await verify(other, 0)).status]).toEqual([200, 200])
  })
})
