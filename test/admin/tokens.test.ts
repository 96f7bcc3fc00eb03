import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdminToken, createTokenText, revokeAdminToken } from '../../src/accounts/admin-tokens.ts'
import type { Role } from '../../src/contract/role.ts'
import { bearer, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { readRows } from './audit-rows.ts'
import { openTestConsole, type TestConsole, toCookie } from './test-console.ts'

const PASSWORD = 'a long enough password'

const ENGINES = [
  ['SQLite', async () => ({})],
  ['PostgreSQL', async () => ({ TABBAT_DATABASE_URL: await createTestDatabase() })],
] as const
const HERE = ENGINES.filter(([name]) => name === 'SQLite' || hasPostgres())

describe.each(HERE)('tokens of the admin API on %s', (_name, createSettings) => {
  let server: TestConsole
  /** The cookie of an owner with a password. */
  let owner: string
  beforeAll(async () => {
    server = await openTestConsole({ TABBAT_TRUST_PROXY: '127.0.0.1', ...(await createSettings()) })
    const boss = await server.openSession('owner', 'boss')
    const { token } = (
      await server.request('/admin/invitations', { cookie: boss, body: { role: 'owner' } })
    ).json()
    const accepted = await server.request('/admin/invitations/accept', {
      body: { token, name: 'ada', password: PASSWORD },
    })
    owner = toCookie(accepted)
  })
  afterAll(() => server.close())

  const toDeps = () => ({ ...server.context, keyring: server.context.keyring(), by: 'root (cli)' })
  const create = async (values: { role?: Role; lifetimeMs?: number; allowedIps?: string[] } = {}) => {
    const { role = 'operator', lifetimeMs = 60_000, allowedIps } = values
    return createAdminToken(toDeps(), { name: 'deploy', role, lifetimeMs, allowedIps })
  }
  let addresses = 0
  /** Each test has an address of its own, because unknown tokens are counted by address. */
  const newAddress = () => {
    addresses += 1
    return `203.0.113.${addresses}`
  }
  const ask = (
    token: string,
    path = '/admin/keys',
    { body = undefined as unknown, from = newAddress(), headers = {} } = {},
  ) =>
    server.request(path, {
      body,
      headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': from, ...headers },
    })
  const toOutcome = async (answer: ReturnType<typeof ask>) => {
    const { status, json } = await answer
    return [status, json().code]
  }
  const lastRow = async (phase: string) => (await readRows(server, phase)).at(-1)

  it('need no cookie, and the audit log names the token', async () => {
    const { text, row } = await create()
    expect((await ask(text)).status).toBe(200)
    const made = await ask(text, '/admin/keys', { body: { name: 'shop', mode: 'test', scopes: ['kyc:nin'] } })
    expect(made.status).toBe(200)
    expect(await lastRow('key_created')).toMatchObject({
      detail: expect.stringContaining(`by token ${row.id}`),
    })
  })

  it('need no content type, because a page of another site cannot send the header', async () => {
    const { text } = await create()
    const key = await server.createKey()
    const id = key.split('_')[2]?.slice(0, 8)
    const answer = await ask(text, `/admin/keys/${id}/revoke`, {
      body: '',
      headers: { 'sec-fetch-site': 'cross-site', origin: 'https://elsewhere.example' },
    })
    expect(answer.status).toBe(200)
  })

  it('count before a cookie, so that a wrong token never falls back to a session', async () => {
    const { text } = await create({ role: 'viewer' })
    const body = { name: 'shop', mode: 'test', scopes: ['kyc:nin'] }
    expect(await toOutcome(ask(text, '/admin/keys', { body, headers: { cookie: owner } }))).toEqual([
      403,
      'wrong_role',
    ])
    const wrong = `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`
    expect(await toOutcome(ask(wrong, '/admin/keys', { headers: { cookie: owner } }))).toEqual([
      401,
      'token_refused',
    ])
  })

  it('leave credentials of a proxy alone', async () => {
    for (const authorization of ['Basic YTpi', 'Bearer eyJhbGciOi', `Bearer ${await server.createKey()}`]) {
      const headers = { authorization }
      expect((await server.request('/admin/keys', { cookie: owner, headers })).status).toBe(200)
      expect((await server.request('/admin/keys', { headers })).status).toBe(401)
    }
  })

  it('are refused by the public API, and API keys by the admin API', async () => {
    const { text } = await create({ role: 'owner' })
    const payload = { nin: '12345678901', phone: PHONE }
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(text),
      payload,
    })
    expect([answer.statusCode, JSON.parse(answer.body)]).toEqual([401, { message: 'Unauthenticated.' }])
  })

  it('are refused when wrong, revoked or expired, with the same answer, and the audit log has the reason', async () => {
    const [revoked, expired, right] = [await create(), await create({ lifetimeMs: 0 }), await create()]
    await revokeAdminToken(toDeps(), revoked.row.id)
    const unknown = createTokenText().text
    const messages = new Set<unknown>()
    for (const text of [revoked.text, expired.text, unknown, 'tbt_admin_', `${right.text}x`]) {
      const answer = await ask(text)
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      messages.add(answer.json().message)
      expect(answer.text).not.toContain(text)
    }
    expect(messages.size).toBe(1)
    const rows = await readRows(server, 'token_refused')
    expect(rows.map(({ outcome, detail }) => [outcome, detail])).toEqual([
      ['revoked', `token ${revoked.row.id}`],
      ['expired', `token ${expired.row.id}`],
    ])
  })

  it('work only from their addresses', async () => {
    const { text, row } = await create({ allowedIps: ['198.51.100.0/24', '2001:db8::1'] })
    expect((await ask(text, '/admin/keys', { from: '198.51.100.7' })).status).toBe(200)
    expect((await ask(text, '/admin/keys', { from: '2001:db8::1' })).status).toBe(200)
    expect(await toOutcome(ask(text, '/admin/keys', { from: '198.51.101.7' }))).toEqual([
      403,
      'address_refused',
    ])
    expect(await lastRow('token_refused')).toMatchObject({
      outcome: 'wrong_address',
      detail: `token ${row.id}`,
    })
  })

  it('are limited by address while they are unknown, and a token that was right before is not', async () => {
    const from = newAddress()
    const { text } = await create()
    expect((await ask(text, '/admin/keys', { from })).status).toBe(200)
    const outcomes: unknown[] = []
    for (let index = 0; index < 31; index++)
      outcomes.push((await ask('tbt_admin_x', '/admin/keys', { from })).status)
    expect(outcomes.filter((status) => status === 401)).toHaveLength(29)
    const limited = await ask('tbt_admin_x', '/admin/keys', { from })
    expect([limited.status, limited.json().code]).toEqual([429, 'too_many_tries'])
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0)
    expect((await ask(text, '/admin/keys', { from })).status).toBe(200)
    expect((await ask(text)).status).toBe(200)
  })

  it('may not do what needs a password, whatever the role', async () => {
    const { text } = await create({ role: 'owner' })
    const body = {
      kind: 'nin',
      number: '12345678901',
      reason: 'a reason that is long enough',
      password: PASSWORD,
    }
    expect(await toOutcome(ask(text, '/admin/records/reveal', { body }))).toEqual([403, 'session_required'])
    const token = { name: 'more', role: 'owner', password: PASSWORD }
    expect(await toOutcome(ask(text, '/admin/tokens', { body: token }))).toEqual([403, 'session_required'])
    expect(await toOutcome(ask(text, '/admin/invitations', { body: { role: 'owner' } }))).toEqual([
      403,
      'session_required',
    ])
  })

  it('may not create, change or roll a live key, whatever the role, but may revoke one', async () => {
    const { text } = await create({ role: 'owner' })
    const live = await server.createKey({ mode: 'live' })
    const [id, before] = [live.slice(9, 17), (await server.context.store.keys.list()).length]
    const body = { name: 'more', mode: 'live', scopes: ['kyc:nin'] }
    const refused = [403, 'session_required']
    expect(await toOutcome(ask(text, '/admin/keys', { body }))).toEqual(refused)
    expect(await toOutcome(ask(text, `/admin/keys/${id}/roll`, { body: {} }))).toEqual(refused)
    const change = { expires_in: '10y' }
    expect(await toOutcome(ask(text, `/admin/keys/${id}/change`, { body: change }))).toEqual(refused)
    expect(await server.context.store.keys.list()).toHaveLength(before)
    expect(await server.context.store.keys.find(id)).toMatchObject({
      rolledTo: undefined,
      expiresAt: undefined,
    })
    expect((await ask(text, `/admin/keys/${id}/revoke`, { body: {} })).status).toBe(200)
  })

  it('open live streams, which end when the token is revoked', async () => {
    const { text, row } = await create({ role: 'viewer' })
    const stream = await fetch(`${server.url}/admin/overview/events`, {
      headers: { authorization: `Bearer ${text}` },
    })
    let events = ''
    for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (events === '') await revokeAdminToken(toDeps(), row.id)
      events += piece
    }
    expect([...events.matchAll(/^event: (\w+)/gm)].map(([, name]) => name)).toEqual([
      'overview',
      'signed_out',
    ])
  })

  describe('in the console', () => {
    const post = (path: string, body: object) => server.request(path, { cookie: owner, body })
    const list = async () =>
      (await server.request('/admin/tokens', { cookie: owner })).json().tokens as Record<string, unknown>[]
    const REQUEST = { name: 'grafana', role: 'viewer', password: PASSWORD }

    it('are created once, listed without the secret, and revoked', async () => {
      const made = await post('/admin/tokens', {
        ...REQUEST,
        expires_in: '30d',
        allowed_ips: ['203.0.113.0/24'],
      })
      const { token, row } = made.json() as { token: string; row: { id: string } }
      expect(token).toMatch(/^tbt_admin_[0-9A-Za-z]{46}$/)
      expect((await ask(token)).status).toBe(200)
      expect(await list()).toContainEqual(
        expect.objectContaining({
          id: row.id,
          state: 'active',
          made_by: 'ada',
          last_used_at: expect.any(String),
        }),
      )
      expect(JSON.stringify(await list())).not.toContain(token.slice(20))
      expect(await lastRow('token_created')).toMatchObject({
        detail: expect.stringMatching(
          /^token \w{8}; name: grafana; role: viewer; expires: .*; addresses: 203.0.113.0\/24; by ada$/,
        ),
      })
      expect((await post(`/admin/tokens/${row.id}/revoke`, {})).json()).toEqual({ ok: true })
      expect(await toOutcome(ask(token))).toEqual([401, 'token_refused'])
      expect((await post(`/admin/tokens/${row.id}/revoke`, {})).json()).toMatchObject({ code: 'refused' })
    })

    it('need the password, and valid options', async () => {
      const before = (await list()).length
      expect((await post('/admin/tokens', { ...REQUEST, password: 'wrong' })).json().code).toBe(
        'wrong_password',
      )
      const bad = await post('/admin/tokens', {
        ...REQUEST,
        name: ' \t',
        expires_in: '2y',
        allowed_ips: ['here'],
      })
      expect(Object.keys(bad.json().errors as object).toSorted()).toEqual([
        'allowed_ips',
        'expires_in',
        'name',
      ])
      expect(await list()).toHaveLength(before)
    })

    it('are not repeated when a whole token is given as an id', async () => {
      const { text } = await create()
      const answer = await post(`/admin/tokens/${text}/revoke`, {})
      expect(answer.status).toBe(409)
      expect(answer.text).not.toContain(text)
    })
  })
})
