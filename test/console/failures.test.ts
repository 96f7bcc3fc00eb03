import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import {
  acceptInvitation,
  type ConsoleServer,
  go,
  PASSWORD,
  signIn,
  startConsoleServer,
  verifyNin,
} from './console-server.ts'

const MINUTE_MS = 60_000
const SIGN_IN = { name: 'Sign in to Tabbat' } as const

describe.skipIf(!CHROMIUM)('when things do not go well, the console', () => {
  let server: ConsoleServer
  let browser: Browser
  let someone: Visit
  beforeAll(async () => {
    server = await startConsoleServer()
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })
  beforeEach(async () => {
    someone = await visit(browser)
  })
  afterEach(() => someone.close())

  const open = (page: Page, room = 'overview') => page.goto(`${server.admin}/console#/${room}`)

  it('is honest about an empty database', async () => {
    const { page } = someone
    await acceptInvitation(page, await server.invite('owner'), 'ada')
    await expect.poll(() => page.textContent('main')).toMatch(/no verifications|nothing yet|none yet/i)
    await go(page, 'Keys')
    await page.getByText('There is no key yet.').waitFor()
    await go(page, 'Records')
    await page.getByText('There are none.').waitFor()
    someone.expectClean()
  })

  it('does not let a wrong password in, and says no more than that', async () => {
    const { page } = someone
    // A browser reports every refusal in its console.
    someone.allow(/status of 401/)
    await open(page, 'keys')
    for (const name of ['ada', 'nobody-of-this-name']) {
      await signIn(page, name, 'not the password')
      await page.getByText('The name or the password is wrong.').waitFor()
    }
    expect(await page.getByRole('navigation', { name: 'Main' }).count()).toBe(0)
    await signIn(page, 'ada')
    // Back where one wanted to go.
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    someone.expectClean()
  })

  it('asks to sign in again when the session has ended, and returns to the same room', async () => {
    const { page } = someone
    someone.allow(/status of 401/)
    await open(page)
    await signIn(page, 'ada')
    await go(page, 'Catalogue')
    await page.getByText('Version 1 is in force.').waitFor()
    server.letTimePass(16 * MINUTE_MS)
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Or paste it' }).fill('{}')
    await dialog.getByRole('button', { name: 'Show what would change' }).click()
    await page.getByRole('heading', SIGN_IN).waitFor()
    await signIn(page, 'ada')
    await page.getByText('Version 1 is in force.').waitFor()
    someone.expectClean()
  })

  it('tells a page that only watches when its session has ended', async () => {
    const { page } = someone
    await open(page)
    await signIn(page, 'ada')
    await page.getByText('Updating live').waitFor()
    server.letTimePass(16 * MINUTE_MS)
    await page.getByRole('heading', SIGN_IN).waitFor()
    someone.expectClean()
  })

  it('shows verifications as they happen', async () => {
    const { page } = someone
    await open(page)
    await signIn(page, 'ada')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    expect((await verifyNin(server.api, SANDBOX_KEY, '30000000001')).status).toBe(200)
    expect((await verifyNin(server.api, SANDBOX_KEY, '00000000503')).status).toBe(503)
    await page.getByText('source unavailable').first().waitFor()
    await expect.poll(() => page.textContent('main')).toMatch(/1 verified/)
    someone.expectClean()
  })

  it('gives a viewer nothing to change', async () => {
    const { page } = someone
    await acceptInvitation(page, await server.invite('viewer'), 'bola')
    for (const [room, forbidden] of [
      ['Keys', 'Create key'],
      ['Catalogue', 'Import'],
      ['Audit', 'Verify the log'],
      ['Try it', 'Send'],
    ] as const) {
      await go(page, room)
      await page.getByRole('heading', { name: room, level: 1 }).waitFor()
      await expect.poll(() => page.getByRole('progressbar').count()).toBe(0)
      const button = page.getByRole('button', { name: forbidden, exact: true })
      expect([room, await button.filter({ visible: true }).count()]).toEqual([room, 0])
    }
    expect(await page.getByRole('link', { name: 'Accounts' }).count()).toBe(0)
    // By the address alone it is no different.
    await open(page, 'accounts')
    expect(await page.getByRole('button', { name: /invite/i }).count()).toBe(0)
    someone.expectClean()
  })

  it('lets an owner lower somebody, who is signed out at once', async () => {
    const other = await visit(browser)
    const { page } = someone
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
    expect(await other.page.getByRole('button', { name: 'Create key' }).count()).toBe(0)
    someone.expectClean()
    await other.close()
  })

  it('works on a slow network, and does nothing twice', async () => {
    const { page } = someone
    await open(page)
    await signIn(page, 'ada')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    let posts = 0
    const gate = Promise.withResolvers<void>()
    await page.route('**/admin/keys', async (route) => {
      if (route.request().method() === 'POST') {
        posts += 1
        await gate.promise
      }
      await route.continue()
    })
    await go(page, 'Keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('slow line')
    const button = dialog.getByRole('button', { name: 'Create key' })
    await button.click()
    await expect.poll(() => button.isDisabled()).toBe(true)
    await dialog.getByRole('textbox', { name: 'Name' }).press('Enter')
    gate.resolve()
    await page.getByRole('dialog', { name: 'The new key' }).waitFor()
    expect(posts).toBe(1)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    expect(await page.getByRole('row', { name: /slow line/ }).count()).toBe(1)
    someone.expectClean()
  })

  it('waits for a server that restarts, and goes on without signing in again', async () => {
    const { page } = someone
    someone.allow(
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
    await page.getByText('slow line').waitFor()
    someone.expectClean()
  })

  it('makes whoever guesses wait', async () => {
    const { page } = someone
    someone.allow(/status of 4(01|29)/)
    await open(page)
    for (let tries = 0; tries < 6; tries++) {
      await signIn(page, 'bola', `not the password ${tries}`)
      await page.getByText(/is wrong|Too many tries/).waitFor()
      await expect.poll(() => page.getByRole('button', { name: 'Sign in' }).isEnabled()).toBe(true)
    }
    await signIn(page, 'bola', PASSWORD)
    await page.getByText(/Too many tries/).waitFor()
    someone.expectClean()
  })
})
