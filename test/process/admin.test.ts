import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCode, toStep } from '../../src/accounts/totp.ts'
import { fromBase32 } from '../admin/base32.ts'
import { send, toCookie } from '../admin/test-console.ts'
import { newDataDir, type RunningServer, startServer, tabbat } from './tabbat.ts'

const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_LOG_LEVEL: 'silent', TABBAT_ADMIN_PORT: '0' }
const PASSWORD = 'a well-kept secret'
let server: RunningServer
let adminUrl: string

beforeAll(async () => {
  server = await startServer(settings)
  adminUrl = /console +(\S+)\/console/.exec(server.banner)?.[1] ?? ''
})
afterAll(() => server.stop())

const admin = (...args: string[]) => tabbat(settings, 'admin', ...args)

const toToken = (link: string) => link.trim().split('#/invite/')[1] ?? ''

const accept = (link: string, name: string, password = PASSWORD) =>
  send(`${adminUrl}/admin/invitations/accept`, { body: { token: toToken(link), name, password } })

const statusOf = async (cookie: string) => (await send(`${adminUrl}/admin/audit/check`, { cookie })).status

describe('tabbat admin', () => {
  it('is named in the banner of a server without accounts', () => {
    expect(server.banner).toContain(`${adminUrl}/console`)
    expect(server.banner).toContain('first account: tabbat admin invite')
  })

  it('has the address of the guide in the banner', async () => {
    const [, guide = ''] = /guide +(http:\S+)/.exec(server.banner) ?? []
    expect((await fetch(guide)).status).toBe(200)
  })

  it('invites the first owner, then accounts with a given role, and manages them while the server runs', async () => {
    const first = await admin('invite', '--url', `${adminUrl}/`)
    expect([first.code, first.stderr]).toEqual([0, expect.stringContaining('shown only once')])
    const link = first.stdout.split('\n')[0] ?? ''
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console#\/invite\/[\w-]{43}$/)
    expect(link.startsWith(adminUrl)).toBe(true)
    expect((await accept(link, 'ada')).json()).toMatchObject({ name: 'ada', role: 'owner' })

    const unsaid = await admin('invite', '--url', adminUrl)
    expect([unsaid.code, unsaid.stderr]).toEqual([1, expect.stringContaining('--role viewer')])

    const second = JSON.parse((await admin('invite', '--role', 'viewer', '--url', adminUrl, '--json')).stdout)
    expect(second).toMatchObject({ role: 'viewer', expires_at: expect.any(String) })
    const cookie = toCookie(await accept(second.link, 'bola'))
    expect(await statusOf(cookie)).toBe(200)

    expect((await admin('role', 'bola', 'operator')).stdout).toBe('bola now has the role operator.\n')
    expect(await statusOf(cookie)).toBe(401)
    const accounts = JSON.parse((await admin('list', '--json')).stdout) as { name: string; role: string }[]
    expect(accounts.map(({ name, role }) => `${name} ${role}`)).toEqual(['ada owner', 'bola operator'])
    expect((await admin('list')).stdout).toMatch(
      /^name +role +second factor +created +last seen\nada +owner +no /,
    )

    await admin('invite', '--role', 'viewer', '--url', adminUrl)
    const [open] = JSON.parse((await admin('invitations', '--json')).stdout) as { id: string }[]
    const id = open?.id ?? ''
    expect((await admin('invitations')).stdout).toMatch(
      new RegExp(`^id +for +role +created by.*\\n${id} +new account +viewer +\\S+ \\(cli\\) `),
    )
    expect((await admin('invitations', '--void', id)).stdout).toBe(`The invitation ${id} is void.\n`)
    const voided = await admin('invitations', '--void', id)
    expect([voided.code, voided.stderr]).toEqual([1, expect.stringContaining('no open invitation')])
    expect((await admin('invitations')).stdout).toBe('There are no open invitations.\n')

    const reset = JSON.parse((await admin('reset', 'bola', '--url', adminUrl, '--json')).stdout)
    const again = toCookie(await accept(reset.link, 'bola', 'another well-kept one'))
    expect(await statusOf(again)).toBe(200)
    expect(JSON.parse((await admin('remove', 'bola', '--yes', '--json')).stdout)).toMatchObject({
      name: 'bola',
      removed: true,
    })
    expect(await statusOf(again)).toBe(401)

    const last = await admin('remove', 'ada', '--yes')
    expect([last.code, last.stderr]).toEqual([1, expect.stringContaining('last owner')])
    const rows = (await tabbat(settings, 'audit', 'export')).stdout
    for (const phase of ['account_invited', 'role_changed', 'account_reset', 'account_removed'])
      expect(rows).toMatch(new RegExp(`"${phase}".*by \\S+ \\(cli\\)`))
    expect(rows).not.toContain(toToken(link))
  })

  it('lists and ends sessions, and resets a lost second factor', async () => {
    const made = JSON.parse((await admin('invite', '--role', 'viewer', '--url', adminUrl, '--json')).stdout)
    const cookie = toCookie(await accept(made.link, 'chioma'))
    const post = (path: string, body: object) => send(`${adminUrl}${path}`, { body, cookie })
    const setup = (await post('/admin/session/factors/totp/begin', {})).json()
    const code = toCode(fromBase32(String(setup.secret)), toStep(Date.now()))
    await post('/admin/session/factors/totp/confirm', { token: setup.token, code })

    expect((await admin('sessions')).stdout).toMatch(
      /^id +account +method +address +browser +opened +last seen\n(.*\n)*[0-9a-f]{12} +chioma +code +127\.0\.0\.1 +unknown /,
    )
    const sessions = JSON.parse((await admin('sessions', 'chioma', '--json')).stdout)
    expect(sessions).toMatchObject([
      { account: 'chioma', method: 'code', address: '127.0.0.1', browser: null },
    ])
    expect((await admin('sessions', 'chioma', '--end')).stdout).toBe('Ended sessions of chioma: 1.\n')
    expect(await statusOf(cookie)).toBe(401)
    expect((await admin('sessions', 'chioma')).stdout).toBe('There are no open sessions.\n')

    const signIn = async () =>
      (
        await send(`${adminUrl}/admin/session/sign-in`, { body: { name: 'chioma', password: PASSWORD } })
      ).json().code
    expect(await signIn()).toBe('second_factor_needed')
    const reset = await tabbat(settings, 'accounts', 'reset-2fa', 'chioma', '--json')
    expect(JSON.parse(reset.stdout)).toMatchObject({ name: 'chioma', reset: true })
    expect(await signIn()).toBeUndefined()
    const again = await admin('reset-2fa', 'chioma')
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('chioma has no second factor')])
    const rows = (await tabbat(settings, 'audit', 'export')).stdout
    for (const phase of ['sessions_ended', 'second_factor_reset'])
      expect(rows).toMatch(new RegExp(`"${phase}".*chioma.*by \\S+ \\(cli\\)`))
  })

  it.each([
    [['sessions', '--end'], /Give the name of the account/],
    [['sessions', 'nobody', '--end'], /There is no account/],
    [['reset-2fa', 'nobody'], /There is no account nobody/],
    [['invite', '--role', 'king'], /Allowed choices are viewer, operator, owner/],
    [['invite', '--url', 'nowhere'], /Give a URL such as/],
    [['invite', '--role', 'viewer'], /Give --url/],
    [['remove', 'nobody', '--yes'], /There is no account nobody/],
    [['role', 'nobody', 'owner'], /There is no account nobody/],
    [['reset', 'nobody', '--url', 'http://127.0.0.1:1'], /There is no account nobody/],
    [['role', 'nobody', 'king'], /Allowed choices are viewer, operator, owner/],
  ])('%j is refused with a sentence that helps', async (args, sentence) => {
    const { code, stderr } = await admin(...args)
    expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)])
  })

  it('creates links to the configured admin listener', async () => {
    const own = { TABBAT_DATA_DIR: newDataDir() }
    const invite = async (overrides: Record<string, string>) =>
      (await tabbat({ ...own, ...overrides }, 'admin', 'invite')).stdout.split('#')[0]
    expect(await invite({})).toBe('http://127.0.0.1:8081/console')
    expect(await invite({ TABBAT_ADMIN_HOST: '::', TABBAT_ADMIN_PORT: '9000' })).toBe(
      'http://[::1]:9000/console',
    )
    const off = await tabbat({ ...own, TABBAT_ADMIN_PORT: 'off' }, 'admin', 'invite')
    expect([off.code, off.stderr]).toEqual([1, expect.stringContaining('The console is off')])
  })
})
