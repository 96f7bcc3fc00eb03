import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import {
  acceptInvitation,
  type ConsoleServer,
  go,
  signIn,
  startConsoleServer,
  verifyNin,
} from './console-server.ts'

const MINUTE_MS = 60_000
const SIGN_IN = { name: 'Sign in to Tabbat' } as const

describe.skipIf(!CHROMIUM)('the console', () => {
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  beforeAll(async () => {
    server = await startConsoleServer()
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })
  beforeEach(async () => {
    visitor = await visit(browser)
  })
  afterEach(() => visitor.close())

  const open = (page: Page, name = 'overview') => page.goto(`${server.admin}/console#/${name}`)
  /** What a page does not show is only known then. */
  const untilLoaded = (page: Page) => expect.poll(() => page.getByRole('progressbar').count()).toBe(0)

  it('shows empty states for an empty database', async () => {
    const { page } = visitor
    await acceptInvitation(page, await server.invite('owner'), 'ada')
    await page
      .getByText(/no verifications/i)
      .first()
      .waitFor()
    await go(page, 'Keys')
    await page.getByText('There are no keys yet.').waitFor()
    await go(page, 'Records')
    await page.getByText('There are no records.').waitFor()
    visitor.expectClean()
  })

  it('gives the same error for a wrong password and an unknown name', async () => {
    const { page } = visitor
    // Browsers log every 401 in their console.
    visitor.allow(/status of 401/)
    await open(page, 'keys')
    for (const name of ['ada', 'unknown-name']) {
      await signIn(page, name, 'not the password')
      await page.getByText('The name or the password is wrong.').waitFor()
    }
    expect(await page.getByRole('navigation', { name: 'Main' }).count()).toBe(0)
    await signIn(page, 'ada')
    // Opens the requested page.
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    visitor.expectClean()
  })

  it('asks to sign in when the session has ended, then returns to the same page', async () => {
    const { page } = visitor
    visitor.allow(/status of 401/)
    await open(page)
    await signIn(page, 'ada')
    await go(page, 'Catalogue')
    await page.getByText('Version 1 is active.').waitFor()
    server.ageSessions(16 * MINUTE_MS)
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Or paste JSON' }).fill('{}')
    await dialog.getByRole('button', { name: 'Preview changes' }).click()
    await page.getByRole('heading', SIGN_IN).waitFor()
    await signIn(page, 'ada')
    await page.getByText('Version 1 is active.').waitFor()
    visitor.expectClean()
  })

  it('says why a session ended in the middle of a form, and keeps the form', async () => {
    const { page } = visitor
    visitor.allow(/status of 401/)
    await open(page)
    await signIn(page, 'ada')
    await go(page, 'Keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByRole('textbox', { name: 'Name' }).fill('night shift')
    server.ageSessions(16 * MINUTE_MS)
    await dialog.getByRole('button', { name: 'Create key' }).click()
    // The page knows that something was done a moment ago.
    await page
      .getByText(
        'Your session has ended: nothing was done for 15 minutes, it was ended elsewhere, or your role or password was changed.',
      )
      .waitFor()
    await page.getByText('what you have entered is still there').waitFor()
    expect(await page.getByRole('heading', { level: 1 }).allTextContents()).toEqual([' Sign in to Tabbat'])
    expect(await findAxeViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await signIn(page, 'ada')
    await dialog.getByText('Your session had ended. Nothing was changed: try again.').first().waitFor()
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('night shift')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Copy the key now.').waitFor()
    visitor.expectClean()
  })

  it.each([
    ['nothing was done for 15 minutes', 15],
    ['you signed in 8 hours ago', 8 * 60],
  ])('says on a page that nobody used that %s', async (reason, minutes) => {
    // Of its own: a page keeps the clock.
    const other = await visit(browser)
    const { page } = other
    other.allow(/status of 401/)
    await page.clock.install()
    await open(page)
    await signIn(page, 'ada')
    await page.getByText('Updating live').waitFor()
    // The page goes on to ask how the server is.
    for (let part = 0; part < 3; part++) {
      const answer = page.waitForResponse('**/admin/health')
      await page.clock.fastForward((minutes / 3) * MINUTE_MS)
      await answer
    }
    server.ageSessions(minutes * MINUTE_MS)
    await page.clock.runFor(10_000)
    await page.getByText(`Your session ended, because ${reason}.`).waitFor()
    other.expectClean()
    await other.close()
  })

  it('keeps nothing of a page about people when the session ends', async () => {
    const { page } = visitor
    await open(page)
    await signIn(page, 'ada')
    await go(page, 'Try it')
    await page.getByText('Code examples').waitFor()
    visitor.allow(/status of 401/)
    server.ageSessions(16 * MINUTE_MS)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('What was on the page was removed').waitFor()
    expect(await page.locator('.shell').count()).toBe(0)
    visitor.expectClean()
  })

  it('keeps nothing for another account', async () => {
    const { page } = visitor
    visitor.allow(/status of 401/)
    await acceptInvitation(page, await server.invite('operator'), 'dayo')
    await go(page, 'Keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('night shift')
    server.ageSessions(16 * MINUTE_MS)
    // The page may notice first that the session has ended, and hide the dialog: a click would wait for it.
    const submit = page.getByRole('dialog', { includeHidden: true }).getByRole('button', {
      name: 'Create key',
      includeHidden: true,
    })
    await submit.dispatchEvent('click')
    await page.getByRole('heading', SIGN_IN).waitFor()
    await signIn(page, 'ada')
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    visitor.expectClean()
  })

  it('says on a loopback address that passkeys need a name', async () => {
    const { page } = visitor
    await open(page)
    const { port } = new URL(server.admin)
    await page.getByRole('link', { name: `http://localhost:${port}/console` }).waitFor()
    visitor.expectClean()
  })

  it('shows the sign-in form when the session of an open page ends', async () => {
    const { page } = visitor
    await open(page)
    await signIn(page, 'ada')
    await page.getByText('Updating live').waitFor()
    server.ageSessions(16 * MINUTE_MS)
    await page.getByRole('heading', SIGN_IN).waitFor()
    visitor.expectClean()
  })

  it('shows new verifications without a reload', async () => {
    const { page } = visitor
    await open(page)
    await signIn(page, 'ada')
    await page.getByRole('radio', { name: 'Test', exact: true }).click()
    expect((await verifyNin(server.api, SANDBOX_KEY, '30000000001')).status).toBe(200)
    expect((await verifyNin(server.api, SANDBOX_KEY, '00000000503')).status).toBe(503)
    await page.getByText('source unavailable').first().waitFor()
    await expect.poll(() => page.textContent('main')).toMatch(/1 verified/)
    visitor.expectClean()
  })

  it('shows a viewer no buttons that change something', async () => {
    const { page } = visitor
    await acceptInvitation(page, await server.invite('viewer'), 'bola')
    for (const [title, forbidden] of [
      ['Keys', 'Create key'],
      ['Catalogue', 'Import'],
      ['Audit', 'Verify the log'],
      ['Try it', 'Send'],
    ] as const) {
      await go(page, title)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await untilLoaded(page)
      const button = page.getByRole('button', { name: forbidden, exact: true })
      expect([title, await button.filter({ visible: true }).count()]).toEqual([title, 0])
    }
    expect(await page.getByRole('link', { name: 'Accounts' }).count()).toBe(0)
    // The URL does not help either.
    await open(page, 'accounts')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await untilLoaded(page)
    expect(await page.getByRole('button', { name: /invitation/i }).count()).toBe(0)
    visitor.expectClean()
  })

  it('signs an account out when an owner changes its role', async () => {
    const other = await visit(browser)
    const { page } = visitor
    await acceptInvitation(other.page, await server.invite('operator'), 'chidi')
    await open(page)
    await signIn(page, 'ada')
    await go(page, 'Accounts')
    await page.getByRole('button', { name: 'Change role: chidi' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox').selectOption('viewer')
    await dialog.getByRole('button', { name: 'Change role' }).click()
    await other.page.getByRole('heading', SIGN_IN).waitFor()
    await signIn(other.page, 'chidi')
    await go(other.page, 'Keys')
    await other.page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await untilLoaded(other.page)
    expect(await other.page.getByRole('button', { name: 'Create key' }).count()).toBe(0)
    visitor.expectClean()
    await other.close()
  })

  it('does not break off a request that takes longer than the pause between two', async () => {
    // Of its own: a page keeps the clock.
    const other = await visit(browser)
    const { page } = other
    await page.clock.install()
    await open(page)
    await signIn(page, 'ada')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    let asked = 0
    const released = Promise.withResolvers<void>()
    await page.route('**/admin/nodes', async (route) => {
      asked += 1
      if (asked === 2) await released.promise
      await route.continue()
    })
    await go(page, 'Settings')
    await page.getByRole('region', { name: 'Nodes', exact: true }).getByRole('row').nth(1).waitFor()
    await page.clock.runFor(11_000)
    await expect.poll(() => asked).toBe(2)
    await page.clock.runFor(60_000)
    expect(asked).toBe(2)
    released.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    other.expectClean()
    await other.close()
  })

  it('loads a list again that was refused after the server came back', async () => {
    const { page } = visitor
    visitor.allow(/ERR_INTERNET_DISCONNECTED|status of 503/)
    await open(page)
    await signIn(page, 'ada')
    await go(page, 'Requests')
    await page
      .getByRole('main')
      .getByText(/There are no requests yet|Verify NIN/)
      .filter({ visible: true })
      .first()
      .waitFor()
    let refused = 0
    await page.route(/\/admin\/requests\?/, (route) => {
      refused += 1
      const body = JSON.stringify({ code: 'audit_unavailable', message: 'Not now.' })
      return refused > 1
        ? route.continue()
        : route.fulfill({ status: 503, contentType: 'application/json', body })
    })
    await page.context().setOffline(true)
    await page.getByText('The server cannot be reached.').waitFor()
    await page.context().setOffline(false)
    const note = page.getByRole('alert').getByText('The database cannot be used now.')
    await note.waitFor()
    await note.waitFor({ state: 'detached' })
    await page.unrouteAll({ behavior: 'wait' })
    visitor.expectClean()
  })

  it('does not say that nothing is wrong before all checks were made', async () => {
    const { page } = visitor
    await page.route('**/admin/health', async (route) => {
      const health = await (await route.fetch()).json()
      const checks = [{ check: 'disk', status: 'ok', text: 'There is space.' }]
      await route.fulfill({ json: { ...health, status: 'ok', data_checked_at: null, checks } })
    })
    await open(page)
    await signIn(page, 'ada')
    await page.getByText('1 check is fine, those of the data are being made…').waitFor()
    expect(await page.getByText('No warnings').count()).toBe(0)
    await page.unrouteAll({ behavior: 'wait' })
    visitor.expectClean()
  })

  it('sends a form once on a slow network', async () => {
    const { page } = visitor
    await open(page)
    await signIn(page, 'ada')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    let posts = 0
    const released = Promise.withResolvers<void>()
    await page.route('**/admin/keys', async (route) => {
      if (route.request().method() === 'POST') {
        posts += 1
        await released.promise
      }
      await route.continue()
    })
    await go(page, 'Keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('slow network')
    const button = dialog.getByRole('button', { name: 'Create key' })
    await button.click()
    await expect.poll(() => button.isDisabled()).toBe(true)
    await dialog.getByRole('textbox', { name: 'Name' }).press('Enter')
    released.resolve()
    await page.getByRole('dialog', { name: 'New key' }).waitFor()
    expect(posts).toBe(1)
    await page.getByRole('button', { name: 'I have saved it' }).click()
    await expect.poll(() => page.getByRole('row', { name: /slow network/ }).count()).toBe(1)
    visitor.expectClean()
  })

  it('reconnects after a restart of the server, still signed in', async () => {
    const { page } = visitor
    visitor.allow(
      /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/,
    )
    await open(page)
    await signIn(page, 'ada')
    await page.getByText('Updating live').waitFor()
    await server.restart(async () => {
      await page.getByText('The server cannot be reached.').waitFor()
    })
    await page.getByText('The server cannot be reached.').waitFor({ state: 'detached' })
    await page.getByText('Updating live').waitFor()
    await go(page, 'Keys')
    await page.getByText('slow network').waitFor()
    visitor.expectClean()
  })

  it('shows the wait after wrong passwords', async () => {
    const { page } = visitor
    visitor.allow(/status of 4(01|29)/)
    await open(page)
    const signInWrong = async () => {
      await signIn(page, 'bola', 'not the password')
      await page.getByText(/is wrong|Too many attempts/).waitFor()
      await expect.poll(() => page.getByRole('button', { name: 'Sign in' }).isEnabled()).toBe(true)
      return page.getByText(/Too many attempts. Wait \d+ seconds/).count()
    }
    // Each wrong password doubles the wait, so that even a slow machine meets it.
    await expect.poll(signInWrong).toBe(1)
    visitor.expectClean()
  })
})
