import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inviteAccount } from '../../src/accounts/accounts.ts'
import type { OpenSession } from '../../src/admin/sessions.ts'
import { bindSessions, openTestConsole, type TestConsole, toCookie } from './test-console.ts'

const PASSWORD = 'a well-kept secret'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

let server: TestConsole
let owner: string
beforeAll(async () => {
  server = await openTestConsole({ TABBAT_TRUST_PROXY: '127.0.0.1' })
  owner = await server.openSession('owner')
})
afterAll(() => server.close())

const post = (path: string, body: object = {}, cookie?: string, headers = {}) =>
  server.request(path, { body, cookie, headers: { 'x-forwarded-for': '198.51.100.9', ...headers } })

async function makeAccount(name: string): Promise<string> {
  const { store, audit, keyring } = server.context
  const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'viewer')
  return toCookie(await post('/admin/invitations/accept', { token, name, password: PASSWORD }))
}

const signIn = async (name: string, headers = {}) =>
  toCookie(await post('/admin/session/sign-in', { name, password: PASSWORD }, undefined, headers))

const list = async (cookie: string, path = '/admin/session/all') =>
  (await server.request(path, { cookie })).json().sessions as OpenSession[]

const isSignedIn = async (cookie: string) =>
  (await server.request('/admin/audit/check', { cookie })).status === 200

const readAudit = async (phase: string) =>
  (
    await server.context.store.database
      .prepare('SELECT outcome, detail FROM audit WHERE phase = $1 ORDER BY sequence')
      .all(phase)
  ).map(({ outcome, detail }) => `${outcome}: ${detail}`)

describe('the list of sessions', () => {
  it('has the own sessions only, with browser, address and method', async () => {
    const here = await makeAccount('abike')
    await signIn('abike', { 'user-agent': FIREFOX })
    const sessions = await list(here)
    const shown = sessions.map(({ browser, is_own }) => `${browser} ${is_own}`)
    expect(shown.toSorted()).toEqual(['Firefox on Linux false', 'null true'])
    expect(
      new Set(sessions.map(({ account, address, method }) => `${account} ${address} ${method}`)),
    ).toEqual(new Set(['abike 198.51.100.9 password']))
  })

  it('of an account is for owners', async () => {
    const cookie = await makeAccount('bunmi')
    expect((await list(owner, '/admin/accounts/bunmi/sessions')).length).toBe(1)
    expect((await server.request('/admin/accounts/bunmi/sessions', { cookie })).status).toBe(403)
  })

  it('shows sessions of an older version', async () => {
    const cookie = await server.openSession('viewer', 'older')
    expect(await list(cookie)).toMatchObject([{ method: 'password', address: null, browser: null }])
  })
})

describe('ending a session', () => {
  it('ends the own one that was chosen, once', async () => {
    const [here, there] = [await makeAccount('chike'), await signIn('chike')]
    const { id = '' } = (await list(here)).find(({ is_own }) => !is_own) ?? {}
    expect((await post(`/admin/session/all/${id}/end`, {}, here)).status).toBe(200)
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, false])
    expect((await post(`/admin/session/all/${id}/end`, {}, here)).status).toBe(409)
    expect(await readAudit('sessions_ended')).toContain(`ok: chike, ${id}; by chike`)
  })

  it('does not end a session of another account', async () => {
    const [mine, theirs] = [await makeAccount('dupe'), await makeAccount('efe')]
    const [{ id } = { id: '' }] = await list(theirs)
    const answer = await post(`/admin/session/all/${id}/end`, {}, mine)
    expect([answer.status, await isSignedIn(theirs)]).toEqual([409, true])
  })

  it('ends all others, and keeps this one', async () => {
    const [here, one, two] = [await makeAccount('femi'), await signIn('femi'), await signIn('femi')]
    expect((await post('/admin/session/end-others', {}, here)).json()).toEqual({ ended: 2 })
    expect([await isSignedIn(here), await isSignedIn(one), await isSignedIn(two)]).toEqual([
      true,
      false,
      false,
    ])
  })

  it('ends all of an account, by an owner', async () => {
    const [one, two] = [await makeAccount('gozie'), await signIn('gozie')]
    expect((await post('/admin/accounts/gozie/end-sessions', {}, owner)).json()).toEqual({ ended: 2 })
    expect([await isSignedIn(one), await isSignedIn(two)]).toEqual([false, false])
    expect(await readAudit('sessions_ended')).toContain('ok: gozie; by owner')
    expect((await post('/admin/accounts/none/end-sessions', {}, owner)).status).toBe(409)
  })
})

/** Written down independently of the list of routes. All other changes of accounts, sessions and tokens need the password, or end something. */
const OTHER_CHANGES = [
  ...['end-sessions', 'reset-factors', 'role', 'reset', 'remove'].map(
    (what) => `/admin/accounts/owner/${what}`,
  ),
  ...['totp/begin', 'totp/confirm', 'totp/remove', 'recovery-codes'].map(
    (what) => `/admin/session/factors/${what}`,
  ),
  ...['begin', 'add', 'remove'].map((what) => `/admin/session/factors/passkeys/${what}`),
]

describe('a change of accounts', () => {
  const age = async (minutes: number, account: string) => {
    await server.context.store.database
      .prepare(
        'UPDATE sessions SET created_at = created_at - $1, confirmed_at = confirmed_at - $1 WHERE account = $2',
      )
      .run(minutes * 60_000, account)
    await bindSessions(server.context)
  }

  it('needs a sign-in or a confirmation of the last 10 minutes', async () => {
    const cookie = await makeAccount('hadiza')
    await server.context.store.database
      .prepare("UPDATE accounts SET role = 'owner' WHERE name = 'hadiza'")
      .run()
    const invite = async () => {
      const answer = await post('/admin/invitations', { role: 'viewer' }, cookie)
      return [answer.status, answer.json().code]
    }
    expect(await invite()).toEqual([200, undefined])
    await age(11, 'hadiza')
    expect(await invite()).toEqual([403, 'confirm_first'])
    for (const path of OTHER_CHANGES) {
      const answer = await post(path, {}, cookie)
      expect([path, answer.status, answer.json().code]).toEqual([path, 403, 'confirm_first'])
    }
    // Reading needs none.
    expect((await server.request('/admin/accounts', { cookie })).status).toBe(200)
    const wrong = await post('/admin/session/confirm', { password: 'not this one' }, cookie)
    expect([wrong.status, wrong.json().code]).toEqual([401, 'wrong_password'])
    expect(await invite()).toEqual([403, 'confirm_first'])
    expect((await post('/admin/session/confirm', { password: PASSWORD }, cookie)).status).toBe(200)
    expect(await invite()).toEqual([200, undefined])
    expect(await readAudit('confirmed')).toEqual(['ok: by hadiza'])
  })
})
