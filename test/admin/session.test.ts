import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { inviteAccount, resetAccount, toTokenId } from '../../src/accounts/accounts.ts'
import { createSessions, deleteExpiredSessions } from '../../src/accounts/sessions.ts'
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { buildAdminServer } from '../../src/admin/server.ts'
import type { Session } from '../../src/admin/sessions.ts'
import type { App } from '../../src/http/app.ts'
import {
  createQuickAuthentication,
  openTestConsole,
  send,
  type TestConsole,
  toCookie,
} from './test-console.ts'

const MINUTE_MS = 60_000
const PASSWORD = 'pâté of long-eared owls'

let server: TestConsole
beforeAll(async () => {
  server = await openTestConsole({ TABBAT_TRUST_PROXY: '127.0.0.1' })
})
afterAll(() => server.close())

/** Each caller has its own address, so that tests do not throttle each other. */
let callers = 0
const newCaller = () => ({ 'x-forwarded-for': `198.51.100.${++callers}` })

const post = (path: string, body: object, cookie?: string, headers = newCaller()) =>
  server.request(path, { body, cookie, headers })

async function makeAccount(name: string): Promise<string> {
  const { store, audit, keyring } = server.context
  const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'operator')
  return toCookie(await post('/admin/invitations/accept', { token, name, password: PASSWORD }))
}

const signIn = (name: string, password = PASSWORD, headers?: { 'x-forwarded-for': string }) =>
  post('/admin/session/sign-in', { name, password }, undefined, headers)

const statusOf = async (cookie: string, path = '/admin/audit/check') =>
  (await server.request(path, { cookie })).status

const idOf = (cookie: string) =>
  toTokenId(server.context.keyring()['console-token'], cookie.split('=')[1] ?? '') as Uint8Array

/** Moves a session back in time. */
async function age(cookie: string, openedMs: number, seenMs: number): Promise<void> {
  const now = Date.now()
  await server.context.store.database
    .prepare('UPDATE sessions SET created_at = $1, seen_at = $2 WHERE id = $3')
    .run(now - openedMs, now - seenMs, idOf(cookie))
}

const readSeen = async (cookie: string) =>
  Number(
    (
      await server.context.store.database
        .prepare('SELECT seen_at FROM sessions WHERE id = $1')
        .get(idOf(cookie))
    )?.seen_at,
  )

const countFailures = async (name: string) =>
  Number(
    (
      await server.context.store.database
        .prepare("SELECT COUNT(*) AS n FROM audit WHERE phase = 'sign_in_failed' AND detail = $1")
        .get(name)
    )?.n,
  )

describe('signing in', () => {
  it('gives the same response for a wrong password and an unknown name', async () => {
    await makeAccount('bisi')
    const [wrong, unknown] = [await signIn('bisi', 'not this one'), await signIn('unknown', 'not this one')]
    const plain = ({ status, text, headers }: typeof wrong) => [
      status,
      text.replace(/req_\w+/, ''),
      Object.keys(headers),
    ]
    expect(plain(wrong)).toEqual(plain(unknown))
    expect([wrong.status, wrong.json().code]).toEqual([401, 'wrong_password'])
    await expect.poll(() => countFailures('bisi')).toBe(1)
    expect(await countFailures('unknown')).toBe(0)
  })

  it('accepts the password in any Unicode normalisation, and the name in any case', async () => {
    await makeAccount('chidi')
    expect((await signIn(' Chidi ', PASSWORD.normalize('NFD'))).status).toBe(200)
  })

  it('sets an HttpOnly, SameSite=Strict cookie', async () => {
    await makeAccount('dayo')
    const cookie = (await signIn('dayo')).headers['set-cookie']?.[0]
    expect(cookie).toMatch(/^tabbat_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  })

  it('over TLS sets and accepts only a __Host- cookie', async () => {
    const plain = await makeAccount('emeka')
    const secure = { ...newCaller(), 'x-forwarded-proto': 'https' }
    const cookie = await post(
      '/admin/session/sign-in',
      { name: 'emeka', password: PASSWORD },
      undefined,
      secure,
    )
    expect(cookie.headers['set-cookie']?.[0]).toMatch(
      /^__Host-tabbat_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    )
    const send = async (sent: string) =>
      (await server.request('/admin/audit/check', { cookie: sent, headers: secure })).status
    expect([await send(toCookie(cookie)), await send(plain)]).toEqual([200, 401])
  })
})

it('X-Forwarded-Proto is ignored without a trusted proxy', async () => {
  const plain = await openTestConsole()
  const cookie = await plain.openSession('owner')
  const headers = { 'x-forwarded-proto': 'https' }
  const answer = await plain.request('/admin/session/sign-out', { body: {}, cookie, headers })
  expect(answer.headers['set-cookie']?.[0]).toMatch(/^tabbat_console=;/)
  await plain.close()
})

describe('password guessing', () => {
  // The clock of the throttle stands still, so no wait ends during the test.
  let admin: App
  let url: string
  beforeAll(async () => {
    const { context, app } = server
    const now = Date.now()
    admin = buildAdminServer(context, app, { authentication: createQuickAuthentication(context, () => now) })
    url = await admin.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => admin.close())

  const guess = (name: string, password: string, headers = newCaller()) =>
    send(`${url}/admin/session/sign-in`, { body: { name, password }, headers })
  const toStatuses = (answers: readonly { status: number }[]) =>
    answers.map(({ status }) => status).toSorted()

  it('is throttled, but not for the owner at another address', async () => {
    await makeAccount('folake')
    const guesser = newCaller()
    // Concurrent attempts must count like sequential ones.
    const answers = await Promise.all(Array.from({ length: 8 }, () => guess('folake', 'a guess', guesser)))
    expect(toStatuses(answers)).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    const late = await guess('folake', PASSWORD, guesser)
    expect([late.status, late.json().code, late.headers['retry-after']]).toEqual([429, 'too_many_tries', '1'])
    expect((await guess('folake', PASSWORD)).status).toBe(200)
    // The throttle does not tell which names exist.
    const unknown = await Promise.all(Array.from({ length: 6 }, () => guess('no-such', 'a guess', guesser)))
    expect(toStatuses(unknown)).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('from the same address does not lock out a browser that has signed in before', async () => {
    const { store, audit, keyring } = server.context
    const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'operator')
    const here = newCaller()
    const accepted = await send(`${url}/admin/invitations/accept`, {
      body: { token, name: 'nkechi', password: PASSWORD },
      headers: here,
    })
    const device = accepted.headers['set-cookie']?.[1]?.split(';')[0]
    for (let time = 0; time < 8; time++) await guess('nkechi', 'a guess', here)
    expect((await guess('nkechi', PASSWORD, here)).status).toBe(429)
    const signInWith = async (name: string, password: string) => {
      const body = { name, password }
      return (await send(`${url}/admin/session/sign-in`, { body, cookie: device, headers: here })).status
    }
    expect(await signInWith('nkechi', PASSWORD)).toBe(200)
    // The device cookie works for its own account only, and allows five failures.
    await makeAccount('obi')
    for (let time = 0; time < 5; time++) await guess('obi', 'a guess', here)
    expect(await signInWith('obi', PASSWORD)).toBe(429)
    const slips = []
    for (let time = 0; time < 6; time++) slips.push(await signInWith('nkechi', 'a slip'))
    expect(slips).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('does not include correct passwords', async () => {
    await makeAccount('musa')
    const person = newCaller()
    for (let time = 0; time < 7; time++) {
      expect((await guess('musa', PASSWORD, person)).status).toBe(200)
      if (time < 6) expect((await guess('musa', 'a slip', person)).status).toBe(401)
    }
  })

  it('does not include attempts while the database was unavailable', async () => {
    await makeAccount('ireti')
    let isDown = true
    const { store } = server.context
    const find: typeof store.accounts.find = async (name) => {
      if (isDown) throw new Error('the database is down')
      return store.accounts.find(name)
    }
    const authentication = createQuickAuthentication({
      ...server.context,
      store: { ...store, accounts: { ...store.accounts, find } },
    })
    const request = { name: 'ireti', password: PASSWORD, address: '198.51.100.250', browser: undefined }
    for (let turn = 0; turn < 8; turn++)
      await expect(authentication.signIn(request)).rejects.toThrow('is down')
    isDown = false
    expect((await authentication.signIn(request)).session).toMatch(/^[\w-]{43}$/)
  })

  it('is throttled when changing the password, too', async () => {
    const cookie = await makeAccount('kemi')
    const body = { current: 'a guess', password: 'a brand-new password' }
    const change = () => send(`${url}/admin/session/password`, { body, cookie })
    const answers = await Promise.all(Array.from({ length: 8 }, change))
    expect(toStatuses(answers)).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    expect((await guess('kemi', PASSWORD)).status).toBe(200)
  })

  it('is no longer throttled after a password reset', async () => {
    await makeAccount('ladi')
    const guesser = newCaller()
    for (let time = 0; time < 5; time++) await guess('ladi', 'a guess', guesser)
    const { store, audit, keyring } = server.context
    const { token } = await resetAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'ladi')
    await send(`${url}/admin/invitations/accept`, { body: { token, name: 'ladi', password: PASSWORD } })
    expect((await guess('ladi', PASSWORD, guesser)).status).toBe(200)
  })
})

/** What a page may ask by itself. Some refuse an empty query, which is the same here. */
const READS = ADMIN_ROUTES.filter(({ method, path }) => method === 'GET' && !path.includes(':'))

describe('a session', () => {
  it('survives a restart of the server', async () => {
    const cookie = await makeAccount('gbenga')
    const admin = buildAdminServer(server.context, server.app)
    const url = await admin.listen({ host: '127.0.0.1', port: 0 })
    expect((await send(`${url}/admin/session`, { cookie })).status).toBe(200)
    await admin.close()
  })

  it('ends after 15 minutes without activity', async () => {
    const cookie = await server.openSession('owner')
    await age(cookie, 20 * MINUTE_MS, 14 * MINUTE_MS)
    expect(await statusOf(cookie)).toBe(200)
    await age(cookie, 20 * MINUTE_MS, 15 * MINUTE_MS)
    const answer = await server.request('/admin/audit/check', { cookie })
    expect([answer.status, answer.json().code]).toEqual([401, 'signed_out'])
    expect((await server.request('/admin/session', { cookie })).json()).toEqual({
      session: null,
      has_sso: false,
    })
  })

  it.each(READS)('is extended by a person at $path, not by the page itself', async ({ path, stream }) => {
    const cookie = await server.openSession('owner')
    await age(cookie, 20 * MINUTE_MS, 14 * MINUTE_MS)
    const before = await readSeen(cookie)
    const unattended = { 'tabbat-unattended': 'true' }
    expect((await server.request(path, { cookie, headers: unattended })).status).toBeLessThan(500)
    expect(await readSeen(cookie)).toBe(before)
    await statusOf(cookie, path)
    const isNeverCounted = path === '/admin/session' || stream === 'text/event-stream'
    expect((await readSeen(cookie)) > before).toBe(!isNeverCounted)
  })

  it('is not extended by an export that goes on', async () => {
    const cookie = await server.openSession('owner')
    await age(cookie, 20 * MINUTE_MS, 2 * MINUTE_MS)
    const touch = vi.spyOn(server.context.store.accounts, 'touch').mockResolvedValue()
    const find = vi.spyOn(server.context.store.accounts, 'findSession')
    // Longer than a second passes before every piece.
    const now = performance.now.bind(performance)
    let passedMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => {
      passedMs += 1001
      return now() + passedMs
    })
    expect(await statusOf(cookie, '/admin/requests/export.csv')).toBe(200)
    expect([find.mock.calls.length > 1, touch.mock.calls.length]).toEqual([true, 1])
    vi.restoreAllMocks()
  })

  it('is written at most once a minute', async () => {
    const cookie = await server.openSession('owner')
    await age(cookie, 20 * MINUTE_MS, 1000)
    const before = await readSeen(cookie)
    await statusOf(cookie, '/admin/accounts')
    expect(await readSeen(cookie)).toBe(before)
  })

  it.each([
    ['nothing can be written', () => Promise.reject(new Error('the disk is full'))],
    ['the store hangs', () => new Promise<void>(() => {})],
  ])('can read while %s', async (_why, touch) => {
    const cookie = await server.openSession('owner')
    await age(cookie, 20 * MINUTE_MS, 2 * MINUTE_MS)
    const sessions = createSessions(
      { ...server.context.store.accounts, touch },
      () => server.context.keyring()['console-token'],
    )
    const actor = await sessions.findActor(cookie.split('=')[1] ?? '', {
      isActivity: true,
      worksWithoutStore: false,
    })
    expect(actor).toMatchObject({ name: 'owner', role: 'owner' })
  })

  it('ends after eight hours in any case', async () => {
    const cookie = await server.openSession('owner')
    await age(cookie, 8 * 60 * MINUTE_MS - MINUTE_MS, 0)
    const { session } = (await server.request('/admin/session', { cookie })).json() as { session: Session }
    expect(session.idle_until).toBe(session.expires_at)
    await age(cookie, 8 * 60 * MINUTE_MS, 0)
    expect(await statusOf(cookie)).toBe(401)
  })

  it('ends with sign-out, which deletes the cookie', async () => {
    const cookie = await makeAccount('hauwa')
    const answer = await post('/admin/session/sign-out', {}, cookie)
    expect(answer.headers['set-cookie']?.[0]).toContain('tabbat_console=; ')
    expect(answer.headers['set-cookie']?.[0]).toContain('Max-Age=0')
    expect(await statusOf(cookie)).toBe(401)
  })

  it('is deleted only after it has ended', async () => {
    const [old, fresh] = [await server.openSession('owner'), await server.openSession('owner')]
    await age(old, 20 * MINUTE_MS, 16 * MINUTE_MS)
    await deleteExpiredSessions(server.context.store.accounts)
    expect([await readSeen(old), await statusOf(fresh)]).toEqual([Number.NaN, 200])
  })

  it.each(['', 'x', 'tabbat_console=', `tabbat_console=${'A'.repeat(43)}`, 'tabbat_console=%00; a=b'])(
    'is not opened by the cookie %j',
    async (cookie) => {
      expect(await statusOf(cookie)).toBe(401)
    },
  )
})

describe('a password change', () => {
  const change = (cookie: string, current: string, password: string) =>
    post('/admin/session/password', { current, password }, cookie)

  it('needs the current password, and ends the other sessions', async () => {
    const cookie = await makeAccount('ifeoma')
    const other = toCookie(await signIn('ifeoma'))
    const wrong = await change(cookie, 'not this one', 'a brand-new password')
    expect([wrong.status, wrong.json().code]).toEqual([401, 'wrong_password'])
    expect(await statusOf(other)).toBe(200)
    expect((await change(cookie, PASSWORD, 'a brand-new password')).status).toBe(200)
    expect([await statusOf(cookie), await statusOf(other)]).toEqual([200, 401])
    expect((await signIn('ifeoma')).status).toBe(401)
    expect((await signIn('ifeoma', 'a brand-new password')).status).toBe(200)
  })

  it('voids open reset links', async () => {
    const cookie = await makeAccount('kunle')
    const { store, audit, keyring } = server.context
    const { token } = await resetAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'kunle')
    const change = { current: PASSWORD, password: 'another well-kept one' }
    expect((await post('/admin/session/password', change, cookie)).status).toBe(200)
    expect((await post('/admin/invitations/inspect', { token })).status).toBe(410)
  })

  it('refuses a weak password before comparing the current one', async () => {
    const cookie = await makeAccount('jumoke')
    const answer = await change(cookie, PASSWORD, 'jumoke-jumoke')
    expect([answer.status, answer.json().errors]).toEqual([422, { password: [expect.any(String)] }])
  })
})
