import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { bearer, PHONE } from '../app.ts'
import { bindSessions, openTestConsole, type TestConsole, type TestResponse } from './test-console.ts'

let at: TestConsole
const cookies: Record<string, string> = {}
beforeAll(async () => {
  at = await openTestConsole()
  for (const role of ['viewer', 'operator', 'owner'] as const) cookies[role] = await at.openSession(role)
})
afterAll(() => at.close())

const REQUEST = { name: 'shop', mode: 'test', scopes: ['kyc:nin'] }
type Row = Record<string, unknown>
type Created = { key: string; row: Row & { id: string } }

const post = (path: string, body: object, role = 'operator') =>
  at.request(path, { cookie: cookies[role], body })
const create = async (options: object = {}, role?: string) =>
  (await post('/admin/keys', { ...REQUEST, ...options }, role)).json() as Created
const list = async () =>
  (await at.request('/admin/keys', { cookie: cookies.viewer })).json() as { keys: Row[]; field_groups: Row[] }
const find = async (id: string) => (await list()).keys.find((key) => key.id === id)
const errorsOf = (answer: TestResponse) => {
  expect(answer.status).toBe(422)
  return Object.keys(answer.json().errors as object)
}
const lastRow = async (phase: string) => {
  const chains = await at.context.store.audit.chains()
  const rows = await Promise.all(chains.map(({ chain }) => at.context.store.audit.pageBack(chain, 1e9, 100)))
  return rows.flat().find((row) => row.phase === phase)
}
const verify = (key: string) =>
  at.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: bearer(key),
    payload: { nin: '12345678901', phone: PHONE },
  })

describe('a new key', () => {
  it('works, is listed without its secret, and the audit names the account', async () => {
    const { key, row } = await create({ expires_in: '90d', allowed_ips: ['127.0.0.1', '10.0.0.0/8'] })
    expect(key).toMatch(/^tbt_test_/)
    expect((await verify(key)).statusCode).toBe(200)
    expect(await find(row.id)).toMatchObject({
      name: 'shop',
      state: 'active',
      allowed_ips: ['127.0.0.1', '10.0.0.0/8'],
      expires_at: expect.any(String),
    })
    expect(JSON.stringify(await list())).not.toContain(key)
    expect(await lastRow('key_created')).toMatchObject({
      key_id: row.id,
      detail: expect.stringMatching(/^granted \{"name":.*"scopes":\[.*\}; by operator$/),
    })
  })

  it('is listed with its usage', async () => {
    const { key, row } = await create()
    expect(await find(row.id)).toMatchObject({ verifications_30d: 0, last_used_at: null })
    await verify(key)
    await verify(key)
    const hour = `${new Date().toISOString().slice(0, 11)}`
    expect(await find(row.id)).toMatchObject({
      verifications_30d: 2,
      last_used_at: expect.stringContaining(hour),
    })
  })

  it('is refused with invalid options, each of which is named', async () => {
    const before = (await list()).keys.length
    const answer = await post('/admin/keys', {
      ...REQUEST,
      name: ' \t',
      expires_in: '0d',
      allowed_ips: ['not-an-address'],
      client_certs: ['not-a-fingerprint'],
      hide: ['religion', 'no_such_field'],
    })
    expect(errorsOf(answer).toSorted()).toEqual(['allowed_ips', 'client_certs', 'expires_in', 'hide', 'name'])
    expect(answer.text).not.toMatch(/not-an-address|not-a-fingerprint/)
    expect(errorsOf(await post('/admin/keys', { ...REQUEST, scopes: [] }))).toEqual(['scopes'])
    const named = await post('/admin/keys', { ...REQUEST, name: 'Phone 0803x123x4567' })
    expect([errorsOf(named), named.text]).toEqual([['name'], expect.not.stringContaining('0803')])
    expect(errorsOf(await post('/admin/keys', { ...REQUEST, extra: 1 }))).toEqual(['extra'])
    expect((await list()).keys).toHaveLength(before)
  })

  it('may reveal hidden fields only if an owner creates it', async () => {
    const options = { reveal: ['next_of_kin'] }
    const answer = await post('/admin/keys', { ...REQUEST, ...options })
    expect(answer.status).toBe(403)
    expect(answer.json()).toMatchObject({ code: 'wrong_role' })
    const { key } = await create(options, 'owner')
    expect(JSON.parse((await verify(key)).body).data.next_of_kin.surname).not.toBe('****')
  })
})

describe('changing', () => {
  const change = (id: string, body: object, role?: string) => post(`/admin/keys/${id}/change`, body, role)

  it('changes the options of a key, keeps its secret, and records both values', async () => {
    const { key, row } = await create({ expires_in: '90d', note: 'first' })
    const body = { name: 'till', subjects_per_day: 5, expires_in: null, owner: 'payments', note: null }
    const answer = await change(row.id, { ...body, hide: ['religion'], require_match: 'dob' })
    expect([answer.status, answer.json()]).toMatchObject([200, { row: { id: row.id, name: 'till' } }])
    expect(await find(row.id)).toMatchObject({
      ...{ name: 'till', subjects_per_day: 5, expires_at: null, owner: 'payments', note: null },
      ...{ hide: ['religion'], require_match: 'dob', scopes: ['kyc:nin'] },
    })
    const { detail } = (await lastRow('key_changed')) ?? {}
    expect(detail).toMatch(/^changed .*; by operator$/)
    expect(JSON.parse(String(detail).slice('changed '.length, -'; by operator'.length))).toMatchObject({
      name: { from: 'shop', to: 'till' },
      expires_at: { from: row.expires_at, to: null },
      require_match: { from: null, to: 'dob' },
      note: { from: 'first', to: null },
    })
    await change(row.id, { scopes: ['catalogue:read'], require_match: null })
    await expect.poll(async () => (await verify(key)).statusCode).toBe(403)
  })

  it('refuses an ended, rolled or unknown key, and a change of nothing', async () => {
    const { row } = await create()
    expect((await change(row.id, { name: 'shop' })).json().message).toMatch(/Nothing was changed/)
    await post(`/admin/keys/${row.id}/roll`, { overlap: '1h' })
    expect((await change(row.id, { name: 'x' })).json().message).toMatch(/was rolled/)
    await post(`/admin/keys/${row.id}/revoke`, {})
    expect((await change(row.id, { name: 'x' })).json().message).toMatch(/has ended/)
    expect((await change('Unknown8', { name: 'x' })).json().message).toMatch(/no key/)
  })

  it('reports every bad field, and repeats no number', async () => {
    const { row } = await create()
    const body = { name: '12345678901', owner: '0803 123 4567', note: '22345678901', allowed_ips: ['here'] }
    const answer = await change(row.id, body)
    expect(errorsOf(answer)).toEqual(['name', 'allowed_ips', 'owner', 'note'])
    expect(answer.text).not.toMatch(/1234567|2234567/)
    expect(errorsOf(await change(row.id, { subjects_per_day: 0 }))).toEqual(['subjects_per_day'])
    expect(errorsOf(await change(row.id, { mode: 'live' }))).toEqual(['mode'])
  })

  it('of a key that reveals hidden fields needs an owner', async () => {
    const { row } = await create({ reveal: ['place_of_origin'] }, 'owner')
    expect((await change(row.id, { name: 'x' })).json().code).toBe('wrong_role')
    expect((await change(row.id, { reveal: [] }, 'owner')).status).toBe(200)
    expect((await change(row.id, { reveal: ['next_of_kin'] })).json().code).toBe('wrong_role')
  })
})

describe('revoking and rolling', () => {
  it('revokes a key', async () => {
    const { key, row } = await create()
    expect((await post(`/admin/keys/${row.id}/revoke`, {})).json()).toEqual({ ok: true })
    expect(await find(row.id)).toMatchObject({ state: 'revoked' })
    expect((await verify(key)).statusCode).toBe(401)
    expect(await lastRow('key_revoked')).toMatchObject({
      key_id: row.id,
      detail: '{"name":"shop"}; by operator',
    })
    const again = await post(`/admin/keys/${row.id}/revoke`, {})
    expect(again.status).toBe(409)
    expect(again.json()).toMatchObject({ code: 'refused', message: expect.stringContaining('before') })
  })

  it('rolls a key: both work during the overlap', async () => {
    const { key, row } = await create()
    const next = (await post(`/admin/keys/${row.id}/roll`, { overlap: '1h' })).json() as Created
    expect(await find(row.id)).toMatchObject({ state: 'active', rolled_to: next.row.id })
    for (const text of [key, next.key]) expect((await verify(text)).statusCode).toBe(200)
    expect(await lastRow('key_rolled')).toMatchObject({
      key_id: row.id,
      detail: expect.stringMatching(
        new RegExp(`^successor ${next.row.id} granted {.*}; ends at 2.*Z; by operator$`),
      ),
    })
    expect(errorsOf(await post(`/admin/keys/${next.row.id}/roll`, { overlap: 'soon' }))).toEqual(['overlap'])
  })

  it.each(['roll', 'change'])('refuses an operator whose %s meets a new reveal', async (action) => {
    const { row } = await create()
    const { keys } = at.context.store
    const read = keys.find
    // An owner changes the key right after it was read for the first time.
    const spy = vi.spyOn(keys, 'find').mockImplementationOnce(async (id) => {
      const before = (await read(id)) as KeyRow
      await keys.change(before, { ...before, reveal: ['next_of_kin'] })
      return before
    })
    const answer = await post(`/admin/keys/${row.id}/${action}`, action === 'roll' ? {} : { name: 'mine' })
    spy.mockRestore()
    expect(answer.status).not.toBe(200)
    expect(await find(row.id)).toMatchObject({ name: 'shop', reveal: ['next_of_kin'], rolled_to: null })
  })

  it('rolls a key with revealed fields only for an owner', async () => {
    const { row } = await create({ reveal: ['place_of_origin'] }, 'owner')
    expect((await post(`/admin/keys/${row.id}/roll`, {})).status).toBe(403)
    expect((await post(`/admin/keys/${row.id}/roll`, {}, 'owner')).status).toBe(200)
  })

  it('of a live key, and creating and changing one, need a sign-in of the last 10 minutes', async () => {
    const cookie = await at.openSession('operator', 'oye')
    const send = async (path: string, body: object) => {
      const { status, json } = await at.request(path, { cookie, body })
      return [status, json().code]
    }
    const age = async (ms: number) => {
      await at.context.store.database
        .prepare("UPDATE sessions SET confirmed_at = $1 WHERE account = 'oye'")
        .run(Date.now() - ms)
      await bindSessions(at.context)
    }
    const [live, test] = [await at.createKey({ mode: 'live' }), await at.createKey()]
    const [liveId, testId] = [live.slice(9, 17), test.slice(9, 17)]
    await age(11 * 60_000)
    const before = (await list()).keys.length
    const refused = [403, 'confirm_first']
    expect(await send('/admin/keys', { ...REQUEST, mode: 'live' })).toEqual(refused)
    expect(await send(`/admin/keys/${liveId}/change`, { name: 'x' })).toEqual(refused)
    expect(await send(`/admin/keys/${liveId}/roll`, {})).toEqual(refused)
    expect((await list()).keys).toHaveLength(before)
    expect((await send(`/admin/keys/${testId}/roll`, {}))[0]).toBe(200)
    await age(0)
    expect((await send('/admin/keys', { ...REQUEST, mode: 'live' }))[0]).toBe(200)
    expect((await send(`/admin/keys/${liveId}/change`, { name: 'x' }))[0]).toBe(200)
    expect((await send(`/admin/keys/${liveId}/roll`, {}))[0]).toBe(200)
    await age(11 * 60_000)
    // A leaked key must end at once.
    expect((await send(`/admin/keys/${liveId}/revoke`, {}))[0]).toBe(200)
  })

  it('does not repeat an invalid id', async () => {
    const { key } = await create()
    const answer = await post(`/admin/keys/${key}/revoke`, {})
    expect(answer.status).toBe(409)
    expect(answer.text).not.toContain(key)
  })
})

describe('the preview', () => {
  const preview = async (kind: string, hide: string[], reveal: string[]) =>
    (await post('/admin/keys/preview', { kind, hide, reveal }, 'viewer')).json().answer as Record<string, Row>

  it('shows the response for a synthetic person', async () => {
    const plain = await preview('nin', [], [])
    expect(plain.next_of_kin).toMatchObject({ surname: '****' })
    expect(plain.personal_info?.religion).not.toBe('****')
    const other = await preview('nin', ['religion', 'residential_info'], ['next_of_kin'])
    expect(other.personal_info).toMatchObject({ religion: '****' })
    expect(other.residential_info).toMatchObject({ address: '****' })
    expect(other.next_of_kin?.surname).not.toBe('****')
    expect(await preview('bvn', [], [])).toMatchObject({ bvn_number: expect.any(String) })
  })

  it('contains every field of the list', async () => {
    const fields = (await list()).field_groups.flatMap(({ fields: named }) => named as Row[])
    const names = fields.map(({ name }) => name as string)
    expect(names).toContain('personal_info.religion')
    const hidden = await preview('nin', names, [])
    const left = Object.entries(hidden).filter(
      ([name, group]) =>
        name !== 'nin_number' && Object.values(group).some((text) => text !== '' && text !== '****'),
    )
    expect(left.filter(([, group]) => typeof group === 'object')).toEqual([])
  })
})
