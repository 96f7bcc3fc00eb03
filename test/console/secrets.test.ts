import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { CHROMIUM } from './browser.ts'
import { PASSWORD, signIn } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

const MINUTE_MS = 60_000

/** Fills pages with what must not stay. Each returns the texts that are in the document now. */
const SECRETS: Readonly<Record<string, (page: Page) => Promise<readonly string[]>>> = {
  'a new token': async (page) => {
    await open(page, 'tokens', 'Create token')
    await dialogOf(page).getByLabel('Name').fill('grafana')
    await dialogOf(page).getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await dialogOf(page).getByRole('button', { name: 'Create token' }).click()
    return readShown(page, 'New token')
  },
  'the password for a token': async (page) => {
    await open(page, 'tokens', 'Create token')
    const field = dialogOf(page).getByRole('textbox', { name: 'Your password' })
    await field.fill(PASSWORD)
    await dialogOf(page).getByRole('button', { name: 'Show your password' }).click()
    return [await field.inputValue()]
  },
  'a new API key': async (page) => {
    await open(page, 'keys', 'Create key')
    await dialogOf(page).getByRole('textbox', { name: 'Name' }).fill('loans app')
    await dialogOf(page).getByRole('button', { name: 'Create key' }).click()
    return readShown(page, 'New key')
  },
  'a one-time link': async (page) => {
    await open(page, 'accounts', 'Create invitation')
    await dialogOf(page).getByRole('button', { name: 'Create link' }).click()
    return readShown(page, 'One-time link')
  },
  'the secret of an endpoint': async (page) => {
    await open(page, 'webhooks', 'Create endpoint')
    await dialogOf(page).getByLabel('Name').fill('alarm')
    await dialogOf(page).getByLabel('Address').fill('https://example.com/hook')
    await dialogOf(page).getByLabel('source.down').check()
    await dialogOf(page).getByRole('button', { name: 'Create endpoint' }).click()
    return readShown(page, 'Secret of the endpoint')
  },
  'the secret of an authenticator app': async (page) => {
    await open(page, 'account', 'Set up an authenticator app')
    await dialogOf(page).locator('.qr path[d^=M]').waitFor()
    const picture = (await dialogOf(page).locator('.qr path').getAttribute('d')) ?? ''
    return [picture, ...(await readShown(page, 'Set up an authenticator app'))]
  },
  'recovery codes': async (page) => {
    await page.route('**/admin/session/factors', async (route) => {
      const factors = await (await route.fetch()).json()
      await route.fulfill({ json: { ...factors, totp_since: new Date().toISOString() } })
    })
    await page.route('**/admin/session/factors/recovery-codes', (route) =>
      route.fulfill({ json: { recovery_codes: ['abcd-efgh-jkmn', 'pqrs-tuvw-xyz2'] } }),
    )
    await open(page, 'account', 'Make new recovery codes')
    await dialogOf(page).getByRole('button', { name: 'Make new recovery codes' }).click()
    const shown = await readShown(page, 'Recovery codes')
    await page.unrouteAll({ behavior: 'wait' })
    return shown.flatMap((text) => text.split('\n'))
  },
  'a changed password': async (page) => {
    await goTo(page, 'account')
    const typed = ['the old password', 'a new one of words', 'a new one of word']
    const names = ['Current password', 'New password', 'Repeat password']
    for (const [index, name] of names.entries())
      await page.getByRole('textbox', { name }).fill(typed[index] ?? '')
    return typed
  },
}

const dialogOf = (page: Page) => page.getByRole('dialog')

async function goTo(page: Page, name: string): Promise<void> {
  const { origin } = new URL(page.url())
  await page.goto('about:blank')
  await page.goto(`${origin}/console#/${name}`)
}

async function open(page: Page, name: string, button: string): Promise<void> {
  await goTo(page, name)
  await page.getByRole('main').getByRole('button', { name: button }).click()
  await dialogOf(page).waitFor()
}

async function readShown(page: Page, title: string): Promise<string[]> {
  const shown = page.getByRole('dialog', { name: title }).locator('code')
  await shown.waitFor()
  return [(await shown.textContent()) ?? '']
}

/** All text, attributes and what is typed, also of what is hidden. */
const readDocument = (page: Page) =>
  page.evaluate<string>(
    "[document.documentElement.outerHTML, ...[...document.querySelectorAll('input, textarea')].map(({ value }) => value)].join('\\n')",
  )

describe.skipIf(!CHROMIUM)('when a session ends', () => {
  const at = setUpConsole()

  const endSession = async (page: Page) => {
    at.server.ageSessions(16 * MINUTE_MS)
    await page.getByRole('heading', { name: 'Sign in to Tabbat' }).waitFor()
  }

  it.each(Object.keys(SECRETS))('nothing of it stays in the document: %s', async (name) => {
    const { page } = at.visitor
    at.visitor.allow(/status of 401/)
    const secrets = (await SECRETS[name]?.(page)) ?? []
    expect(secrets.filter((secret) => secret.length > 8)).not.toEqual([])
    const before = await readDocument(page)
    for (const secret of secrets) expect(before).toContain(secret)
    await endSession(page)
    await page.getByText('what you have entered is still there, except passwords and secrets').waitFor()
    const after = await readDocument(page)
    expect(secrets.filter((secret) => after.includes(secret))).toEqual([])
    await signIn(page, 'ada')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    at.visitor.expectClean()
  })

  it('the rest of a form with a secret stays', async () => {
    const { page } = at.visitor
    await open(page, 'tokens', 'Create token')
    const [name, password] = ['Name', 'Your password'].map((label) =>
      dialogOf(page).getByRole('textbox', { name: label }),
    )
    await name?.fill('night shift')
    await password?.fill(PASSWORD)
    await endSession(page)
    await signIn(page, 'ada')
    await page.getByRole('navigation', { name: 'Main' }).waitFor({ state: 'attached' })
    await dialogOf(page).getByText('Create a token').waitFor()
    expect([await name?.inputValue(), await password?.inputValue()]).toEqual(['night shift', ''])
    at.visitor.expectClean()
  })
})
