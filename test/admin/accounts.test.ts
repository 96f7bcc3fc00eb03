import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createToken, toTokenId } from '../../src/accounts/accounts.ts'
import { buildAdminServer } from '../../src/admin/server.ts'
import type { Role } from '../../src/contract/role.ts'
import { AppError } from '../../src/errors.ts'
import { dump } from '../registry/full-database.ts'
import { openTestConsole, send, type TestConsole, toCookie } from './test-console.ts'

const PASSWORD = 'a well-kept secret'

let server: TestConsole
let owner: string
beforeAll(async () => {
  server = await openTestConsole()
  owner = await server.openSession('owner')
})
afterAll(() => server.close())

const post = (path: string, body: object, cookie?: string) => server.request(path, { body, cookie })

/** Letters only: a row of digits could be a NIN, BVN or phone, which names must not contain. */
const newName = () =>
  `p-${randomBytes(6)
    .toString('hex')
    .replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)] ?? '')}`

async function invite(role: Role = 'viewer', cookie = owner): Promise<string> {
  return String((await post('/admin/invitations', { role }, cookie)).json().token)
}

const accept = (token: string, name = newName(), password = PASSWORD) =>
  post('/admin/invitations/accept', { token, name, password })

const signIn = (name: string, password = PASSWORD) => post('/admin/session/sign-in', { name, password })

const isSignedIn = async (cookie: string) =>
  (await server.request('/admin/audit/check', { cookie })).status === 200

/** A new account with a password, and the cookie of its first session. */
async function makeAccount(role: Role = 'viewer'): Promise<{ name: string; cookie: string }> {
  const name = newName()
  return { name, cookie: toCookie(await accept(await invite(role), name)) }
}

async function readAudit(word: string): Promise<string[]> {
  const rows = await server.context.store.database
    .prepare('SELECT phase, outcome, detail FROM audit ORDER BY sequence')
    .all()
  return rows
    .filter(({ detail }) => String(detail).includes(word))
    .map(({ phase, outcome, detail }) => `${phase} ${outcome}: ${detail}`)
}

describe('an invitation', () => {
  it('shows its role, creates an account and signs in', async () => {
    const token = await invite('operator')
    const inspected = await post('/admin/invitations/inspect', { token })
    expect(inspected.json()).toMatchObject({ role: 'operator', name: null })
    const name = newName()
    const answer = await accept(token, name)
    expect([answer.status, answer.json()]).toEqual([200, expect.objectContaining({ name, role: 'operator' })])
    expect(await isSignedIn(toCookie(answer))).toBe(true)
    expect((await signIn(name)).status).toBe(200)
    expect(await readAudit(name)).toEqual([
      `account_created ok: ${name}, operator, invited by owner; by ${name}`,
      `signed_in ok: by ${name}`,
      `signed_in ok: by ${name}`,
    ])
  })

  it('refuses a name that contains a phone number', async () => {
    const token = await invite('viewer')
    const answer = await accept(token, '0803-123.4567')
    expect([answer.status, Object.keys(answer.json().errors as object)]).toEqual([422, ['name']])
    expect((await accept(token)).status).toBe(200)
  })

  it('stores neither its token nor the password nor the cookie', async () => {
    const token = await invite()
    const cookie = toCookie(await accept(token))
    const everything = JSON.stringify([
      await dump(server.context.store),
      await server.context.store.database.prepare('SELECT * FROM sessions').all(),
    ])
    for (const secret of [token, PASSWORD, cookie.split('=')[1] ?? '']) {
      expect(everything).not.toContain(secret)
      expect(everything).not.toContain(Buffer.from(secret).toString('hex'))
    }
  })

  it('works once, also for two concurrent requests', async () => {
    const token = await invite()
    const names = [newName(), newName()]
    const answers = await Promise.all(names.map((name) => accept(token, name)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 410])
    const made = await Promise.all(names.map((name) => server.context.store.accounts.find(name)))
    expect(made.filter((account) => account !== undefined)).toHaveLength(1)
    const loser = names[answers.findIndex(({ status }) => status === 410)] ?? ''
    expect((await readAudit(loser)).at(-1)).toContain('account_created refused')
    expect((await accept(token)).json().code).toBe('invitation_void')
    expect((await post('/admin/invitations/inspect', { token })).status).toBe(410)
  })

  it('is refused for an existing name, and still works for another', async () => {
    const { name } = await makeAccount()
    const token = await invite()
    expect((await accept(token, name)).json()).toMatchObject({
      code: 'refused',
      message: expect.stringContaining('already'),
    })
    expect((await accept(token)).status).toBe(200)
  })

  it('expires', async () => {
    const token = createToken()
    const common = { role: 'owner', account: undefined, madeBy: 'owner', createdAt: 0 } as const
    const id = toTokenId(server.context.keyring()['console-token'], token) as Uint8Array
    await server.context.store.accounts.invite({ ...common, id, expiresAt: Date.now() })
    expect((await post('/admin/invitations/inspect', { token })).status).toBe(410)
    expect((await accept(token)).status).toBe(410)
  })

  it.each([
    ['short', 'elevenchars', /at least 12/],
    ['one character', 'zzzzzzzzzzzz', /repeated/],
    ['the account name', 'is-ada.okoro!', /name of the account/],
    ['too short after Unicode normalisation', 'e\u0301'.repeat(11), /at least 12/],
  ])('is refused with a password that is %s, and still works', async (_what, password, sentence) => {
    const token = await invite()
    const answer = await accept(token, 'ada.okoro', password)
    expect(answer.status).toBe(422)
    expect(answer.json()).toMatchObject({ errors: { password: [expect.stringMatching(sentence)] } })
    expect((await post('/admin/invitations/inspect', { token })).status).toBe(200)
  })

  it('is void when its creator is no longer an owner', async () => {
    const [removed, lowered] = [await makeAccount('owner'), await makeAccount('owner')]
    const tokens = [await invite('owner', removed.cookie), await invite('owner', lowered.cookie)]
    await post(`/admin/accounts/${removed.name}/remove`, {}, owner)
    await post(`/admin/accounts/${lowered.name}/role`, { role: 'operator' }, owner)
    for (const token of tokens) expect((await accept(token)).status).toBe(410)
  })
})

describe('a password reset', () => {
  it('sets a new password once and ends the sessions', async () => {
    const { name, cookie } = await makeAccount()
    const { token } = (await post(`/admin/accounts/${name}/reset`, {}, owner)).json()
    expect(await isSignedIn(cookie)).toBe(true)
    expect((await post('/admin/invitations/inspect', { token })).json().name).toBe(name)
    expect((await accept(String(token), newName())).json().code).toBe('refused')
    const password = 'another well-kept one'
    const answers = await Promise.all([1, 2].map(() => accept(String(token), name, password)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 410])
    expect(await isSignedIn(cookie)).toBe(false)
    expect([(await signIn(name)).status, (await signIn(name, password)).status]).toEqual([401, 200])
    expect(await readAudit(name)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(`^account_reset ok: ${name}, link works until 2.*; by owner$`),
        expect.stringContaining('password_changed ok'),
      ]),
    )
  })

  it('is void when the account was removed', async () => {
    const { name } = await makeAccount()
    const { token } = (await post(`/admin/accounts/${name}/reset`, {}, owner)).json()
    await post(`/admin/accounts/${name}/remove`, {}, owner)
    expect((await accept(String(token), name)).status).toBe(410)
    expect(await server.context.store.accounts.find(name)).toBeUndefined()
  })
})

describe('an account', () => {
  it('is listed without its password', async () => {
    const { name } = await makeAccount('operator')
    const answer = await server.request('/admin/accounts', { cookie: owner })
    const { accounts } = answer.json() as { accounts: { name: string }[] }
    expect(accounts.find((account) => account.name === name)).toEqual({
      name,
      role: 'operator',
      has_second_factor: false,
      created_at: expect.any(String),
      last_seen_at: expect.any(String),
    })
    expect(answer.text).not.toContain('argon2')
  })

  it('must sign in again after a role change, and has the new rights', async () => {
    const { name, cookie } = await makeAccount('viewer')
    expect((await post(`/admin/accounts/${name}/role`, { role: 'owner' }, owner)).status).toBe(200)
    expect(await isSignedIn(cookie)).toBe(false)
    expect((await server.request('/admin/accounts', { cookie: toCookie(await signIn(name)) })).status).toBe(
      200,
    )
    expect(await readAudit(name)).toContain(`role_changed ok: ${name}, from viewer to owner; by owner`)
  })

  it.each(['remove', 'role'])('that gets "%s" while its request arrives is refused', async (end) => {
    const { name, cookie } = await makeAccount('owner')
    const body = JSON.stringify({ role: 'owner' })
    const asked = request(`${server.url}/admin/invitations`, {
      method: 'POST',
      headers: {
        cookie,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    })
    asked.flushHeaders()
    await once(asked, 'continue')
    await post(`/admin/accounts/${name}/${end}`, end === 'role' ? { role: 'viewer' } : {}, owner)
    asked.end(body)
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    expect(await json(response)).toMatchObject({ code: 'signed_out' })
  })

  it('that is removed is signed out at once and cannot sign in', async () => {
    const { name, cookie } = await makeAccount()
    expect((await post(`/admin/accounts/${name}/remove`, {}, owner)).status).toBe(200)
    expect([await isSignedIn(cookie), (await signIn(name)).status]).toEqual([false, 401])
    expect(await readAudit(name)).toContain(`account_removed ok: ${name}, viewer; by owner`)
  })

  it.each(['nobody-here', 'NOT A NAME <b>'])('that does not exist cannot be changed: %s', async (name) => {
    const answer = await post(`/admin/accounts/${encodeURIComponent(name)}/remove`, {}, owner)
    expect([answer.status, answer.json().code]).toEqual([409, 'refused'])
    expect(answer.text).not.toContain('<b>')
  })
})

describe('the last owner', () => {
  it('can neither be removed nor lose the role, and nothing is written', async () => {
    const alone = await openTestConsole()
    const cookie = await alone.openSession('owner', 'only')
    const before = await dump(alone.context.store)
    for (const [path, body] of [
      ['/admin/accounts/only/remove', {}],
      ['/admin/accounts/only/role', { role: 'viewer' }],
    ] as const) {
      const answer = await alone.request(path, { body, cookie })
      expect([answer.status, answer.json().message]).toEqual([409, expect.stringContaining('last owner')])
    }
    const after = await dump(alone.context.store)
    expect([after.accounts, after.audit]).toEqual([before.accounts, before.audit])
    await alone.close()
  })
})

describe('when the audit log cannot be written', () => {
  it('nothing is changed', async () => {
    const { context, app } = server
    const audit = {
      requireHealthy: () => {},
      reportFailure: () => false,
      record: () => Promise.reject(new AppError('audit_unavailable')),
    } as unknown as typeof context.audit
    const admin = buildAdminServer({ ...context, audit }, app)
    const url = await admin.listen({ host: '127.0.0.1', port: 0 })
    const { name } = await makeAccount()
    const token = await invite()
    const { accounts } = context.store
    const read = async () =>
      JSON.stringify([
        await accounts.list(),
        await context.store.database.prepare('SELECT COUNT(*) AS n FROM sessions').get(),
        await context.store.database.prepare('SELECT COUNT(*) AS n FROM invitations').get(),
      ])
    const before = await read()
    const tries: readonly [string, object, string?][] = [
      ['/admin/invitations', { role: 'viewer' }, owner],
      ['/admin/invitations/accept', { token, name: newName(), password: PASSWORD }],
      ['/admin/session/sign-in', { name, password: PASSWORD }],
      ['/admin/session/sign-out', {}, owner],
      [`/admin/accounts/${name}/role`, { role: 'owner' }, owner],
      [`/admin/accounts/${name}/reset`, {}, owner],
      [`/admin/accounts/${name}/remove`, {}, owner],
    ]
    for (const [path, body, cookie] of tries)
      expect((await send(`${url}${path}`, { body, cookie })).status, path).toBe(503)
    expect(await read()).toBe(before)
    await admin.close()
  })
})
