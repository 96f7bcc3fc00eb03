import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inviteAccount, resetAccount } from '../../src/accounts/accounts.ts'
import { toCode, toStep } from '../../src/accounts/totp.ts'
import type { Session } from '../../src/admin/sessions.ts'
import type { Role } from '../../src/contract/role.ts'
import { fromBase32 } from './base32.ts'
import {
  bindSessions,
  openTestConsole,
  type TestConsole,
  type TestResponse,
  toCookie,
} from './test-console.ts'

const PASSWORD = 'a well-kept secret'

let server: TestConsole
beforeAll(async () => {
  server = await openTestConsole()
})
afterAll(() => server.close())

const post = (path: string, body: object, cookie?: string) => server.request(path, { body, cookie })
const codeOf = ({ status, json }: TestResponse) => [status, json().code]

async function makeAccount(name: string, role: Role = 'viewer'): Promise<string> {
  const { store, audit, keyring } = server.context
  const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, role)
  return toCookie(await post('/admin/invitations/accept', { token, name, password: PASSWORD }))
}

const signIn = (name: string, code?: string, password = PASSWORD) =>
  post('/admin/session/sign-in', { name, password, ...(code !== undefined && { code }) })

const isSignedIn = async (cookie: string) =>
  (await server.request('/admin/audit/check', { cookie })).status === 200

const readFactors = async (cookie: string) =>
  (await server.request('/admin/session/factors', { cookie })).json()

/** An authenticator app. `next` makes a code of the next time step, which is accepted too. */
type App = { readonly now: () => string; readonly next: () => string }

const createApp = (secret: string): App => {
  const key = fromBase32(secret)
  return {
    now: () => toCode(key, toStep(Date.now())),
    next: () => toCode(key, toStep(Date.now()) + 1),
  }
}

/** Sets up an authenticator app, as the page does. */
async function setUp(cookie: string): Promise<{ app: App; used: string; codes: string[]; secret: string }> {
  const { secret, token } = (await post('/admin/session/factors/totp/begin', {}, cookie)).json()
  const app = createApp(String(secret))
  const used = app.now()
  const answer = await post('/admin/session/factors/totp/confirm', { token, code: used }, cookie)
  expect(answer.status).toBe(200)
  return { app, used, codes: answer.json().recovery_codes as string[], secret: String(secret) }
}

/** Forgets which codes were used, so that a test need not wait for the next time step. */
const forgetSteps = (name: string) =>
  server.context.store.database.prepare('UPDATE totp_secrets SET last_step = 0 WHERE account = $1').run(name)

const readAudit = async (name: string) =>
  (
    await server.context.store.database
      .prepare('SELECT phase, outcome, detail FROM audit ORDER BY sequence')
      .all()
  )
    .filter(({ detail }) => String(detail).includes(name))
    .map(({ phase, outcome, detail }) => `${phase} ${outcome}: ${detail}`)

describe('an authenticator app', () => {
  it('that is added between the check of a password and the session is asked for', async () => {
    const cookie = await makeAccount('zainab')
    const { accounts } = server.context.store
    const { open } = accounts
    const opening = Promise.withResolvers<void>()
    const added = Promise.withResolvers<void>()
    Object.assign(accounts, {
      open: async (...args: Parameters<typeof open>) => {
        opening.resolve()
        await added.promise
        return open(...args)
      },
    })
    const answer = signIn('zainab')
    await opening.promise
    Object.assign(accounts, { open })
    await setUp(cookie)
    added.resolve()
    expect(codeOf(await answer)).toEqual([401, 'second_factor_needed'])
    expect(await isSignedIn(cookie)).toBe(true)
  })

  it('counts only after its first code, and ends the other sessions', async () => {
    const cookie = await makeAccount('amina')
    const other = toCookie(await signIn('amina'))
    const begun = await post('/admin/session/factors/totp/begin', {}, cookie)
    const { secret, token, url } = begun.json()
    expect(String(url)).toMatch(/^otpauth:\/\/totp\/Tabbat:amina%40127\.0\.0\.1/)
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect((await signIn('amina')).status).toBe(200)
    const wrong = await post('/admin/session/factors/totp/confirm', { token, code: '000000' }, cookie)
    expect(codeOf(wrong)).toEqual([401, 'wrong_code'])
    const code = createApp(String(secret)).now()
    const done = await post('/admin/session/factors/totp/confirm', { token, code }, cookie)
    expect([done.status, (done.json().recovery_codes as string[]).length]).toEqual([200, 10])
    expect([await isSignedIn(cookie), await isSignedIn(other)]).toEqual([true, false])
    expect(await readFactors(cookie)).toEqual({
      totp_since: expect.any(String),
      passkeys: [],
      recovery_codes: 10,
    })
    // A second one would replace the first without a trace.
    expect((await post('/admin/session/factors/totp/begin', {}, cookie)).status).toBe(409)
    expect((await post('/admin/session/factors/totp/confirm', { token, code }, cookie)).status).toBe(409)
  })

  it('asks for a code after the right password only', async () => {
    const { app } = await setUp(await makeAccount('bala'))
    expect(codeOf(await signIn('bala', undefined, 'not this one'))).toEqual([401, 'wrong_password'])
    expect(codeOf(await signIn('bala', app.next(), 'not this one'))).toEqual([401, 'wrong_password'])
    expect(codeOf(await signIn('bala'))).toEqual([401, 'second_factor_needed'])
    expect(codeOf(await signIn('bala', ' '))).toEqual([401, 'second_factor_needed'])
    const answer = await signIn('bala', app.next())
    expect([answer.status, (answer.json() as unknown as Session).method]).toEqual([200, 'code'])
    expect(await readAudit('bala')).toContain('signed_in ok: with a code; by bala')
  })

  it('accepts a code once, also the one that confirmed it', async () => {
    const { app, used } = await setUp(await makeAccount('chioma'))
    expect(codeOf(await signIn('chioma', used))).toEqual([401, 'wrong_code'])
    const code = app.next()
    const answers = await Promise.all([
      signIn('chioma', code),
      signIn('chioma', code),
      signIn('chioma', code),
    ])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401])
    await expect.poll(() => readAudit('chioma')).toContain('sign_in_failed wrong_code: chioma')
  })

  it('makes an attacker who has the password wait', async () => {
    await setUp(await makeAccount('danjuma'))
    const answers: number[] = []
    // Each wait is twice the last one: on a slow machine, the first may be over at the next try.
    for (let time = 0; time < 12 && answers.at(-1) !== 429; time++)
      answers.push((await signIn('danjuma', String(time).padStart(6, '0'))).status)
    expect(answers.slice(0, 5)).toEqual(Array(5).fill(401))
    expect(answers.at(-1)).toBe(429)
  })

  it('makes who enters wrong codes at its set-up wait, too', async () => {
    const cookie = await makeAccount('daniel')
    const { token } = (await post('/admin/session/factors/totp/begin', {}, cookie)).json()
    const answers: number[] = []
    for (let time = 0; time < 12 && answers.at(-1) !== 429; time++) {
      const code = String(time).padStart(6, '0')
      answers.push((await post('/admin/session/factors/totp/confirm', { token, code }, cookie)).status)
    }
    expect(answers.slice(0, 5)).toEqual(Array(5).fill(401))
    expect(answers.at(-1)).toBe(429)
  })

  it('of one account does not open another, and the set-up neither', async () => {
    const [mine, theirs] = [await makeAccount('ebun'), await makeAccount('fatima')]
    const { token, secret } = (await post('/admin/session/factors/totp/begin', {}, mine)).json()
    const code = createApp(String(secret)).now()
    const answer = await post('/admin/session/factors/totp/confirm', { token, code }, theirs)
    expect([answer.status, String(answer.json().message)]).toEqual([409, expect.stringContaining('expired')])
    expect((await signIn('fatima')).status).toBe(200)
  })

  it('is stored sealed, and its secret is in no other place', async () => {
    const { secret, codes } = await setUp(await makeAccount('gambo'))
    const { database } = server.context.store
    const rows = await Promise.all(
      ['totp_secrets', 'recovery_codes', 'audit'].map((table) =>
        database.prepare(`SELECT * FROM ${table}`).all(),
      ),
    )
    const toText = (_key: string, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
    const all = JSON.stringify(rows, toText)
    for (const text of [secret, fromBase32(secret).toString('hex'), ...codes]) expect(all).not.toContain(text)
  })

  it('can be removed, which needs a confirmation of the last 10 minutes', async () => {
    const cookie = await makeAccount('halima')
    await setUp(cookie)
    const { database } = server.context.store
    const age = async (ms: number) => {
      await database
        .prepare('UPDATE sessions SET confirmed_at = $1 WHERE account = $2')
        .run(Date.now() - ms, 'halima')
      await bindSessions(server.context)
    }
    await age(11 * 60_000)
    const remove = () => post('/admin/session/factors/totp/remove', {}, cookie)
    expect(codeOf(await remove())).toEqual([403, 'confirm_first'])
    await age(0)
    expect((await remove()).status).toBe(200)
    expect((await remove()).status).toBe(409)
    expect(await readFactors(cookie)).toEqual({ totp_since: null, passkeys: [], recovery_codes: 0 })
    expect((await signIn('halima')).status).toBe(200)
    expect(await readAudit('halima')).toContain(
      'second_factor_removed ok: halima, authenticator app; by halima',
    )
  })
})

describe('a recovery code', () => {
  it('signs in once, in any spelling', async () => {
    const { codes } = await setUp(await makeAccount('idris'))
    const [code = ''] = codes
    const answer = await signIn('idris', ` ${code.toUpperCase().replaceAll('-', ' ')} `)
    expect([answer.status, answer.json().method]).toEqual([200, 'recovery_code'])
    expect(codeOf(await signIn('idris', code))).toEqual([401, 'wrong_code'])
    expect(await readFactors(toCookie(answer))).toMatchObject({ recovery_codes: 9 })
    expect(await readAudit('idris')).toContain('signed_in ok: with a recovery code; by idris')
  })

  it('is not used up by a link for another account', async () => {
    const cookie = await makeAccount('iyabo')
    const { codes } = await setUp(cookie)
    const { store, audit, keyring } = server.context
    const { token } = await resetAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'iyabo')
    const body = { token, password: 'another well-kept one', code: codes[0] }
    expect((await post('/admin/invitations/accept', { ...body, name: 'idris' })).status).toBe(409)
    expect(await readFactors(cookie)).toMatchObject({ recovery_codes: 10 })
    const answer = await post('/admin/invitations/accept', { ...body, name: 'iyabo' })
    expect([answer.status, answer.json().method]).toEqual([200, 'recovery_code'])
    expect(await readFactors(toCookie(answer))).toMatchObject({ recovery_codes: 9 })
  })

  it('is void after new ones were made', async () => {
    const cookie = await makeAccount('jide')
    const { codes } = await setUp(cookie)
    const renewed = (await post('/admin/session/factors/recovery-codes', {}, cookie)).json()
    const fresh = renewed.recovery_codes as string[]
    expect([fresh.length, new Set([...codes, ...fresh]).size]).toEqual([10, 20])
    expect((await signIn('jide', codes[0])).status).toBe(401)
    expect((await signIn('jide', fresh[0])).status).toBe(200)
  })

  it('of one account does not work for another', async () => {
    const { codes } = await setUp(await makeAccount('kalu'))
    await setUp(await makeAccount('lola'))
    expect((await signIn('lola', codes[0])).status).toBe(401)
  })

  it('needs a second factor', async () => {
    const cookie = await makeAccount('musa')
    expect((await post('/admin/session/factors/recovery-codes', {}, cookie)).status).toBe(409)
  })
})

describe('a lost second factor', () => {
  it('is not circumvented by a link that resets the password', async () => {
    const { app } = await setUp(await makeAccount('ngozi'))
    const { store, audit, keyring } = server.context
    const { token } = await resetAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'ngozi')
    const accept = (code?: string, password = 'another well-kept one') =>
      post('/admin/invitations/accept', { token, name: 'ngozi', password, ...(code && { code }) })
    expect(codeOf(await accept())).toEqual([401, 'second_factor_needed'])
    expect(codeOf(await accept('000000'))).toEqual([401, 'wrong_code'])
    // A weak password does not use up the code.
    expect((await accept(app.next(), 'ngozi-ngozi-ngozi')).status).toBe(422)
    expect((await accept(app.next())).json()).toMatchObject({ name: 'ngozi', method: 'code' })
    await forgetSteps('ngozi')
    expect((await signIn('ngozi', app.now(), 'another well-kept one')).status).toBe(200)
  })

  it('is reset by an owner, which ends the sessions and is audited', async () => {
    const owner = await server.openSession('owner')
    const cookie = await makeAccount('obinna')
    await setUp(cookie)
    const listed = async () =>
      (await server.request('/admin/accounts', { cookie: owner })).json().accounts as {
        name: string
        has_second_factor: boolean
      }[]
    const find = async () => (await listed()).find(({ name }) => name === 'obinna')?.has_second_factor
    expect(await find()).toBe(true)
    expect((await post('/admin/accounts/obinna/reset-factors', {}, owner)).status).toBe(200)
    expect([await find(), await isSignedIn(cookie), (await signIn('obinna')).status]).toEqual([
      false,
      false,
      200,
    ])
    expect((await post('/admin/accounts/obinna/reset-factors', {}, owner)).status).toBe(409)
    expect((await post('/admin/accounts/no-such/reset-factors', {}, owner)).status).toBe(409)
    expect(await readAudit('obinna')).toContain('second_factor_reset ok: obinna; by owner')
  })

  it('does not hold for a later account with the same name', async () => {
    await setUp(await makeAccount('peju'))
    await server.context.store.accounts.remove('peju')
    await makeAccount('peju')
    expect((await signIn('peju')).status).toBe(200)
  })
})

describe('a role that requires a second factor', () => {
  let strict: TestConsole
  beforeAll(async () => {
    strict = await openTestConsole({ TABBAT_TWO_FACTOR: 'operator,owner' })
  })
  afterAll(() => strict.close())

  it('can do nothing but set one up', async () => {
    const cookie = await strict.openSession('operator')
    const request = (path: string, body?: object) => strict.request(path, { body, cookie })
    const session = async () => (await request('/admin/session')).json().session as Session
    expect((await session()).must_set_up).toBe(true)
    for (const path of ['/admin/keys', '/admin/overview', '/admin/session/all', '/admin/audit/check'])
      expect(codeOf(await request(path))).toEqual([403, 'set_up_second_factor'])
    expect((await request('/admin/session/factors')).status).toBe(200)
    const { secret, token } = (await request('/admin/session/factors/totp/begin', {})).json()
    const code = createApp(String(secret)).now()
    expect((await request('/admin/session/factors/totp/confirm', { token, code })).status).toBe(200)
    expect((await session()).must_set_up).toBe(false)
    expect((await request('/admin/keys')).status).toBe(200)
    const removed = await request('/admin/session/factors/totp/remove', {})
    expect([removed.status, String(removed.json().message)]).toEqual([
      409,
      expect.stringContaining('requires'),
    ])
  })

  it('does not concern other roles', async () => {
    const cookie = await strict.openSession('viewer')
    expect((await strict.request('/admin/keys', { cookie })).status).toBe(200)
  })
})
