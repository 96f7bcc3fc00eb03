import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inviteAccount, resetAccount } from '../../src/accounts/accounts.ts'
import type { Session } from '../../src/admin/sessions.ts'
import { openTestConsole, type TestConsole } from '../admin/test-console.ts'
import { type OidcProvider, startProvider } from './provider.ts'
import { createUserAgent, signInAtProvider, type UserAgent } from './user-agent.ts'

let provider: OidcProvider
let server: TestConsole
beforeAll(async () => {
  provider = await startProvider()
  server = await openTestConsole(provider.settings)
  await provider.register(`${server.url}/admin/sso/callback`)
})
afterAll(async () => {
  await server?.close()
  await provider?.stop()
})

const START = '/admin/sso/start'

/** Signs in at the provider, and comes back. */
async function signIn(login: string, agent = createUserAgent(), path = START) {
  const { callback, authorization } = await signInAtProvider(agent, `${server.url}${path}`, login)
  return { agent, callback, authorization, answer: await agent.get(callback) }
}

const readSession = async ({ cookies }: UserAgent): Promise<Session | null> =>
  (
    await server.request('/admin/session', {
      cookie: `tabbat_console=${cookies.get('tabbat_console') ?? ''}`,
    })
  ).json().session as Session | null

const readAudit = async (word: string) =>
  (
    await server.context.store.database
      .prepare('SELECT phase, outcome, detail FROM audit ORDER BY sequence')
      .all()
  )
    .filter(({ detail }) => String(detail).includes(word))
    .map(({ phase, outcome, detail }) => `${phase} ${outcome}: ${detail}`)

describe('single sign-on', () => {
  it('creates an account at the first sign-in, with the role of the claim', async () => {
    const { agent, answer, authorization } = await signIn('ada+operators')
    expect([answer.status, answer.headers.location]).toEqual([302, '/console'])
    expect(await readSession(agent)).toMatchObject({
      name: 'ada',
      role: 'operator',
      method: 'sso',
      has_password: false,
      must_set_up: false,
    })
    expect(Object.fromEntries(authorization.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      state: expect.stringMatching(/^.{20,}$/),
      nonce: expect.stringMatching(/^.{20,}$/),
    })
    expect(answer.headers['set-cookie']?.[0]).toMatch(
      /^tabbat_console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    expect(await readAudit('ada')).toEqual([
      'account_created ok: ada, operator, by single sign-on; by ada',
      'signed_in ok: with single sign-on; by ada',
    ])
    expect((await server.context.store.accounts.list()).map(({ name }) => name)).toContain('ada')
    await signIn('ada+operators')
    expect((await readAudit('ada')).filter((row) => row.startsWith('account_created')).length).toBe(1)
  })

  it('stores neither the identifier of the provider nor an e-mail address', async () => {
    await signIn('bola@example.com+staff')
    const rows = await server.context.store.database.prepare('SELECT * FROM account_identities').all()
    expect(JSON.stringify(rows)).not.toContain('example.com')
    expect(rows.map(({ account }) => account)).toContain('bola')
  })

  it('gives the highest role, follows a change of the claims, and ends the sessions then', async () => {
    const { agent } = await signIn('chidi+staff+operators')
    expect(await readSession(agent)).toMatchObject({ role: 'operator' })
    const { store } = server.context
    await store.accounts.setRole('chidi', 'viewer')
    const again = await signIn('chidi+staff+operators')
    expect(await readSession(again.agent)).toMatchObject({ role: 'operator' })
    expect(await readAudit('chidi')).toContain(
      'role_changed ok: chidi, from viewer to operator, by the claims of single sign-on; by chidi',
    )
    // An owner was made by an owner, and stays one.
    await store.accounts.setRole('chidi', 'owner')
    expect(await readSession((await signIn('chidi+staff+operators')).agent)).toMatchObject({ role: 'owner' })
  })

  it.each(['dayo', 'dayo+others', 'dayo+owner', 'dayo+OPERATORS'])(
    'refuses %s, who has no role',
    async (login) => {
      const { agent, answer } = await signIn(login)
      expect(answer.headers.location).toBe('/console#/sign-in/sso_no_role')
      expect([await readSession(agent), await server.context.store.accounts.find('dayo')]).toEqual([
        null,
        undefined,
      ])
    },
  )

  it('does not take over an account with the same name', async () => {
    const { store, audit, keyring } = server.context
    const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'owner')
    const body = { token, name: 'emeka', password: 'a well-kept secret' }
    await server.request('/admin/invitations/accept', { body })
    const { agent, answer } = await signIn('emeka+staff')
    expect(answer.headers.location).toBe('/console#/sign-in/sso_name_taken')
    expect(await readSession(agent)).toBeNull()
  })

  it('has no password here', async () => {
    const { agent } = await signIn('folake+staff', createUserAgent(), `${START}?confirm=1`)
    const { store, audit, keyring } = server.context
    await expect(
      resetAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'folake'),
    ).rejects.toThrow('no password')
    for (const password of ['', 'none', ' '.repeat(12)])
      expect(
        (
          await server.request('/admin/session/sign-in', {
            body: { name: 'folake', password: password || 'x' },
          })
        ).status,
      ).toBe(401)
    const cookie = `tabbat_console=${agent.cookies.get('tabbat_console')}`
    const begun = await server.request('/admin/session/factors/totp/begin', { body: {}, cookie })
    expect([begun.status, String(begun.json().message)]).toEqual([
      409,
      expect.stringContaining('identity provider'),
    ])
  })

  it('of a removed account creates a new one, without the rights of the old', async () => {
    await signIn('gbenga+operators')
    await server.context.store.accounts.setRole('gbenga', 'owner')
    await server.context.store.accounts.remove('gbenga')
    expect(await readSession((await signIn('gbenga+operators')).agent)).toMatchObject({ role: 'operator' })
  })
})

describe('an answer of the provider', () => {
  const refused = async (agent: UserAgent, callback: string) => (await agent.get(callback)).headers.location

  it('is refused in another browser, and without the cookie', async () => {
    const agent = createUserAgent()
    const { callback } = await signInAtProvider(agent, `${server.url}${START}`, 'hauwa+staff')
    expect(await refused(createUserAgent(), callback)).toBe('/console#/sign-in/sso_expired')
    const other = createUserAgent()
    await other.get(`${server.url}${START}`)
    expect(await refused(other, callback)).toBe('/console#/sign-in/sso_failed')
  })

  it('is refused with another state, another code, or an error', async () => {
    const change = async (work: (url: URL) => void) => {
      const agent = createUserAgent()
      const { callback } = await signInAtProvider(agent, `${server.url}${START}`, 'ibrahim+staff')
      const url = new URL(callback)
      work(url)
      return refused(agent, url.href)
    }
    const failed = '/console#/sign-in/sso_failed'
    expect(await change(({ searchParams }) => searchParams.set('state', 'another'))).toBe(failed)
    expect(await change(({ searchParams }) => searchParams.delete('state'))).toBe(failed)
    expect(await change(({ searchParams }) => searchParams.set('code', 'another'))).toBe(failed)
    expect(await change(({ searchParams }) => searchParams.set('iss', 'https://elsewhere.example'))).toBe(
      failed,
    )
    expect(
      await change((url) => {
        url.search = `?error=access_denied&state=${url.searchParams.get('state')}&iss=${url.searchParams.get('iss')}`
      }),
    ).toBe(failed)
    expect(await server.context.store.accounts.find('ibrahim')).toBeUndefined()
  })

  it('works once', async () => {
    const { agent, callback } = await signIn('jide+staff')
    expect(await refused(agent, callback)).toBe('/console#/sign-in/sso_expired')
  })

  it('of a changed cookie is refused', async () => {
    const agent = createUserAgent()
    const { callback } = await signInAtProvider(agent, `${server.url}${START}`, 'kemi+staff')
    const sealed = agent.cookies.get('tabbat_sso') ?? ''
    agent.cookies.set('tabbat_sso', `${sealed.slice(0, -2)}AA`)
    expect(await refused(agent, callback)).toBe('/console#/sign-in/sso_expired')
  })
})

describe('a confirmation by single sign-on', () => {
  it('asks the provider to sign in again, and replaces the session', async () => {
    const { agent } = await signIn('ladi+operators')
    await server.context.store.accounts.setRole('ladi', 'owner')
    const signedIn = await signIn('ladi+operators', agent)
    const before = `tabbat_console=${signedIn.agent.cookies.get('tabbat_console')}`
    await server.context.store.database
      .prepare("UPDATE sessions SET confirmed_at = 0 WHERE account = 'ladi'")
      .run()
    const invite = async (cookie: string) => {
      const answer = await server.request('/admin/invitations', { body: { role: 'viewer' }, cookie })
      return [answer.status, answer.json().code]
    }
    const body = { kind: 'nin', number: '12345678901', reason: 'a reason that is long enough' }
    const reveal = async (cookie: string) => [
      (await server.request('/admin/records/reveal', { body, cookie })).status,
      (await server.request('/admin/people/reveal', { body, cookie })).status,
    ]
    expect([await invite(before), await reveal(before)]).toEqual([
      [403, 'confirm_first'],
      [403, 403],
    ])
    const confirmed = await signIn('ladi+operators', agent, `${START}?confirm=1`)
    expect(confirmed.authorization.searchParams.get('prompt')).toBe('login')
    const after = `tabbat_console=${agent.cookies.get('tabbat_console')}`
    expect([await invite(after), await reveal(after)]).toEqual([
      [200, undefined],
      [200, 200],
    ])
    expect(await invite(before)).toEqual([401, 'signed_out'])
  })
})

describe('a sign-in by an open session of the provider', () => {
  it('is no confirmation: a browser that was left open signs in without a person', async () => {
    const { agent } = await signIn('musa+operators')
    await server.context.store.accounts.setRole('musa', 'owner')
    const started = await agent.get(`${server.url}${START}`)
    const isCallback = (location: string) => new URL(location).pathname === '/admin/sso/callback'
    const { location } = await agent.follow(started, `${server.url}${START}`, isCallback)
    expect((await agent.get(location)).headers.location).toBe('/console')
    const cookie = `tabbat_console=${agent.cookies.get('tabbat_console')}`
    const answer = await server.request('/admin/invitations', { body: { role: 'owner' }, cookie })
    expect([answer.status, answer.json().code]).toEqual([403, 'confirm_first'])
  })
})

describe('the start of single sign-on', () => {
  it('is refused from another site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await server.request(START, { headers })).status).toBe(403)
  })

  it('says that the provider cannot be reached, and recovers', async () => {
    const down = await startProvider()
    const alone = await openTestConsole(down.settings)
    const start = async () => String((await alone.request(START)).headers.location)
    // It does not know its client yet, and answers 503.
    expect(await start()).toBe('/console#/sign-in/sso_unavailable')
    await down.register(`${alone.url}/admin/sso/callback`, { idTokenClaims: true })
    expect(await start()).toContain(`${down.issuer}/auth?`)
    const agent = createUserAgent()
    const { callback } = await signInAtProvider(agent, `${alone.url}${START}`, 'musa+staff')
    expect((await agent.get(callback)).headers.location).toBe('/console')
    await alone.close()
    await down.stop()
  })

  it('does not exist without settings', async () => {
    const plain = await openTestConsole()
    expect((await plain.request(START)).status).toBe(404)
    expect((await plain.request('/admin/session')).json()).toEqual({ session: null, has_sso: false })
    await plain.close()
    expect((await server.request('/admin/session')).json()).toEqual({ session: null, has_sso: true })
  })
})
