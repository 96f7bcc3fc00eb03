import type { Browser, CDPSession, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { toCode, toStep } from '../../src/accounts/totp.ts'
import { type OidcProvider, startProvider } from '../accounts/provider.ts'
import { fromBase32 } from '../admin/base32.ts'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import {
  acceptInvitation,
  type ConsoleServer,
  go,
  PASSWORD,
  signIn,
  startConsoleServer,
} from './console-server.ts'

const TEN_MINUTES_MS = 600_000

let browser: Browser
let visits: Visit[] = []
beforeAll(async () => {
  if (CHROMIUM) browser = await launch()
})
afterAll(() => browser?.close())
afterEach(async () => {
  const ended = visits
  visits = []
  await Promise.all(ended.map((each) => each.close()))
  for (const each of ended) each.expectClean()
})

async function open(): Promise<Visit> {
  const visitor = await visit(browser)
  // A refused sign-in is an error in the console of the browser.
  visitor.allow(/status of 40[139]/)
  visitor.allow(/request to localhost/)
  visits.push(visitor)
  return visitor
}

const openAccount = async (page: Page, admin: string) => {
  await page.goto(`${admin}/console#/account`)
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor()
}

const signOut = async (page: Page) => {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Tabbat' }).waitFor()
}

/** Sets up an authenticator app in the open dialog. Returns its secret and the recovery codes. */
async function setUpApp(page: Page): Promise<{ secret: Buffer; used: string; codes: string[] }> {
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  await expect.poll(() => dialog.locator('.qr path').getAttribute('d')).toMatch(/^M/)
  const shown = (await dialog.locator('code').textContent()) ?? ''
  const secret = fromBase32(shown.replaceAll(' ', ''))
  const used = toCode(secret, toStep(Date.now()))
  await dialog.getByRole('textbox', { name: 'Code' }).fill(used)
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  const codes = page.getByRole('dialog', { name: 'Recovery codes' })
  await codes.waitFor()
  const text = (await codes.locator('code').textContent()) ?? ''
  await codes.getByRole('button', { name: 'I have saved it' }).click()
  return { secret, used, codes: text.split('\n') }
}

describe.skipIf(!CHROMIUM)('a user of the console', () => {
  let server: ConsoleServer
  beforeAll(async () => {
    server = await startConsoleServer()
  })
  afterAll(() => server?.stop())

  it('sets up an authenticator app, signs in with a code and with a recovery code', async () => {
    const { page } = await open()
    await acceptInvitation(page, await server.invite('owner'), 'ada')
    await openAccount(page, server.admin)
    const { secret, codes } = await setUpApp(page)
    expect(codes.length).toBe(10)
    await page.getByText('10 left').waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    await signOut(page)
    await signIn(page, 'ada')
    const code = page.getByRole('textbox', { name: 'Code or recovery code' })
    await code.fill(toCode(secret, toStep(Date.now()) + 1))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await openAccount(page, server.admin)
    await signOut(page)
    await signIn(page, 'ada')
    await code.fill('not-a-code')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('The code is wrong').waitFor()
    await code.fill(codes[0] ?? '')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await openAccount(page, server.admin)
    await page.getByText('9 left').waitFor()
  })

  it('sees the own sessions, ends another one, and is asked for the password again', async () => {
    const [one, other] = [await open(), await open()]
    const { page } = one
    await acceptInvitation(page, await server.invite('owner'), 'bola')
    await other.page.goto(`${server.admin}/console`)
    await signIn(other.page, 'bola')
    await other.page.getByRole('navigation', { name: 'Main' }).waitFor()
    await openAccount(page, server.admin)
    const rows = page.getByRole('region', { name: 'Your sessions' }).getByRole('row')
    await expect.poll(() => rows.count()).toBe(3)
    await page.getByRole('button', { name: /^End: Chrome on/ }).click()
    await expect.poll(() => rows.count()).toBe(2)
    await other.page.reload()
    await other.page.getByRole('heading', { name: 'Sign in to Tabbat' }).waitFor()

    server.ageSessions(TEN_MINUTES_MS + 60_000)
    await go(page, 'Accounts')
    await page.getByRole('button', { name: 'Create invitation' }).click()
    await page.getByRole('button', { name: 'Create link' }).click()
    const again = page.getByRole('dialog', { name: 'Is it still you?' })
    await again.getByRole('textbox', { name: 'Your password' }).fill('not this one')
    await again.getByRole('button', { name: 'Continue' }).click()
    await again.getByText('The password is wrong.').waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    await again.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await again.getByRole('button', { name: 'Continue' }).click()
    await page
      .getByRole('dialog', { name: 'One-time link' })
      .getByRole('button', { name: 'I have saved it' })
      .click()
  })

  it('is asked for the password again before a live key is created, not before a test key', async () => {
    const { page } = await open()
    await acceptInvitation(page, await server.invite('operator'), 'ngozi')
    server.ageSessions(TEN_MINUTES_MS + 60_000)
    await go(page, 'Keys')
    const create = async (name: string, mode: 'Test' | 'Live') => {
      await page.getByRole('button', { name: 'Create key' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name)
      await dialog.getByRole('radio', { name: mode, exact: true }).check()
      await dialog.getByRole('button', { name: 'Create key' }).click()
    }
    const created = page.getByRole('dialog', { name: 'New key' })
    await create('till', 'Test')
    await created.getByRole('button', { name: 'I have saved it' }).click()
    await create('shop', 'Live')
    const again = page.getByRole('dialog', { name: 'Is it still you?' })
    await again.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await again.getByRole('button', { name: 'Continue' }).click()
    await created.locator('code', { hasText: /^tbt_live_/ }).waitFor()
    await created.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('region', { name: 'Keys', exact: true }).getByRole('row', { name: /shop/ }).waitFor()
  })

  it('sees which fields a key hides with another field', async () => {
    const { page } = await open()
    await acceptInvitation(page, await server.invite('operator'), 'kemi')
    await go(page, 'Keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Fields in responses').click()
    const derived = dialog.getByRole('checkbox', { name: 'formatted date of birth' })
    expect([await derived.isChecked(), await derived.isEnabled()]).toEqual([true, true])
    await dialog.getByRole('checkbox', { name: 'Date of birth', exact: true }).uncheck()
    await dialog.getByText('hidden with date of birth').waitFor()
    expect([await derived.isChecked(), await derived.isEnabled()]).toEqual([false, false])
    await dialog.getByText('"formatted_date_of_birth": "****"').waitFor()
  })

  it('as an owner sees the sessions of an account, ends them, and resets a lost second factor', async () => {
    const [owner, person] = [await open(), await open()]
    await acceptInvitation(person.page, await server.invite('viewer'), 'chidi')
    await openAccount(person.page, server.admin)
    await setUpApp(person.page)
    const { page } = owner
    await acceptInvitation(page, await server.invite('owner'), 'dayo')
    await go(page, 'Accounts')
    await page.getByRole('button', { name: 'Sessions: chidi' }).click()
    const sessions = page.getByRole('dialog', { name: 'Sessions of chidi' })
    await sessions.getByText('password and code').waitFor()
    await sessions.getByRole('button', { name: 'End all' }).click()
    await sessions.getByText('There are no open sessions.').waitFor()
    await sessions.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: 'Reset second factor: chidi' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reset second factor' }).click()
    await expect.poll(() => page.getByRole('button', { name: 'Reset second factor: chidi' }).count()).toBe(0)
    await person.page.reload()
    await signIn(person.page, 'chidi')
    await person.page.getByRole('navigation', { name: 'Main' }).waitFor()
  })
})

/** An authenticator of the browser that always agrees, with a PIN. */
async function addAuthenticator(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return session
}

describe.skipIf(!CHROMIUM)('a passkey', () => {
  let server: ConsoleServer
  let localhost: string
  beforeAll(async () => {
    server = await startConsoleServer()
    // Passkeys are not for IP addresses.
    localhost = server.admin.replace('127.0.0.1', 'localhost')
  })
  afterAll(() => server?.stop())

  it('is added, signs in without a password, confirms a change, and is removed', async () => {
    const { page } = await open()
    await addAuthenticator(page)
    const link = (await server.invite('owner')).replace('127.0.0.1', 'localhost')
    await acceptInvitation(page, link, 'efe')
    await openAccount(page, localhost)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('test device')
    await dialog.getByRole('button', { name: 'Add a passkey' }).click()
    const codes = page.getByRole('dialog', { name: 'Recovery codes' })
    await codes.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('cell', { name: 'test device', exact: true }).waitFor()
    expect(await findAxeViolations(page)).toEqual([])

    await signOut(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()

    server.ageSessions(TEN_MINUTES_MS + 60_000)
    await go(page, 'Accounts')
    await page.getByRole('button', { name: 'Create invitation' }).click()
    await page.getByRole('button', { name: 'Create link' }).click()
    await page
      .getByRole('dialog', { name: 'Is it still you?' })
      .getByRole('button', { name: 'Use a passkey' })
      .click()
    await page
      .getByRole('dialog', { name: 'One-time link' })
      .getByRole('button', { name: 'I have saved it' })
      .click()

    await openAccount(page, localhost)
    await page.getByRole('button', { name: 'Remove the passkey test device' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('Your account has no passkey.').waitFor()
    await signOut(page)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByText('This passkey is not known here').waitFor()
    await signIn(page, 'efe')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
  })

  it('makes the password alone insufficient, and its answer cannot be sent again', async () => {
    const { page } = await open()
    await addAuthenticator(page)
    const link = (await server.invite('viewer')).replace('127.0.0.1', 'localhost')
    await acceptInvitation(page, link, 'femi')
    await openAccount(page, localhost)
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('test device')
    await page.getByRole('dialog').getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await signOut(page)
    await signIn(page, 'femi')
    await page.getByRole('textbox', { name: 'Code or recovery code' }).waitFor()
    const sent = page.waitForRequest((request) => request.url().endsWith('/admin/session/passkey/sign-in'))
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    const body = (await sent).postData() ?? ''
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    const repeat = (url: string) =>
      fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const again = await repeat(`${localhost}/admin/session/passkey/sign-in`)
    expect([again.status, ((await again.json()) as { code: string }).code]).toEqual([401, 'wrong_passkey'])
    // Under another host name of the same server.
    const elsewhere = await repeat(`${server.admin}/admin/session/passkey/sign-in`)
    expect(elsewhere.status).toBe(409)
  })
})

describe.skipIf(!CHROMIUM)('a role that requires a second factor', () => {
  let server: ConsoleServer
  beforeAll(async () => {
    server = await startConsoleServer({ TABBAT_TWO_FACTOR: 'owner' })
  })
  afterAll(() => server?.stop())

  it('lets its user set one up, and nothing else', async () => {
    const { page } = await open()
    await page.goto(await server.invite('owner'))
    await page.getByRole('textbox', { name: 'Name' }).fill('gozie')
    await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD)
    await page.getByRole('textbox', { name: 'Repeat password' }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Set up a second factor', level: 1 }).waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    await setUpApp(page)
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
  })
})

describe.skipIf(!CHROMIUM)('single sign-on', () => {
  let provider: OidcProvider
  let server: ConsoleServer
  beforeAll(async () => {
    provider = await startProvider()
    server = await startConsoleServer(provider.settings)
    await provider.register(`${server.admin}/admin/sso/callback`)
  })
  afterAll(async () => {
    await server?.stop()
    await provider?.stop()
  })

  const login = async (page: Page, name: string) => {
    await page.getByRole('link', { name: 'Sign in with single sign-on' }).click()
    await page.getByPlaceholder('Enter any login').fill(name)
    await page.getByPlaceholder('and password').fill('any')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  it('signs in at the provider and comes back to the console', async () => {
    const visitor = await open()
    const { page } = visitor
    // The pages of the provider have their own faults.
    visitor.allow(/request to fonts|fonts\.googleapis|Content Security|ERR_|Failed to load/)
    await page.goto(`${server.admin}/console`)
    await login(page, 'hauwa+operators')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await openAccount(page, server.admin)
    await page.getByRole('cell', { name: 'single sign-on' }).waitFor()
    expect(await page.getByRole('button', { name: 'Set up an authenticator app' }).count()).toBe(0)
    await page.reload()
    await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor()
  })

  it('says why it failed', async () => {
    const visitor = await open()
    const { page } = visitor
    visitor.allow(/request to fonts|fonts\.googleapis|Content Security|ERR_|Failed to load/)
    await page.goto(`${server.admin}/console`)
    await login(page, 'ibrahim')
    await page.getByText('has no role here').waitFor()
    expect(await findAxeViolations(page)).toEqual([])
  })
})
