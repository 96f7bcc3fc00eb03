import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, go, PASSWORD } from './console-server.ts'
import { HOSTILE, HOSTILE_LINK, openLivelyHouse, SOMEBODY } from './lively.ts'

describe.skipIf(!CHROMIUM)('a text that is a program', () => {
  let server: ConsoleServer
  let browser: Browser
  let someone: Visit
  const dialogs: string[] = []
  beforeAll(async () => {
    server = await openLivelyHouse()
    browser = await launch()
    someone = await visit(browser)
    someone.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    await acceptInvitation(someone.page, await server.invite('owner'), 'ada')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  /** It stands there to be read, and nothing on the page was made from it. */
  const expectText = async () => {
    const { page } = someone
    await page.getByText(HOSTILE).first().waitFor()
    expect(await page.textContent('body')).toContain(HOSTILE_LINK)
    expect(await page.locator('[href^="javascript:"], [src^="javascript:"]').count()).toBe(0)
    expect(await page.locator('script').count()).toBe(1)
    expect(dialogs).toEqual([])
    someone.expectClean()
  }

  it('is shown as text in a record, which is masked until it is asked for and hides again', async () => {
    const { page } = someone
    await go(page, 'Records')
    await page.getByRole('textbox', { name: 'Number' }).fill(SOMEBODY.nin)
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByText('****').first().waitFor()
    expect(await page.textContent('main')).not.toContain('alert')
    await page.getByRole('button', { name: /clear|reveal|show in/i }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('request of the person, case AB')
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await page.clock.install()
    await dialog.getByRole('button', { name: 'Show for a minute' }).click()
    await expectText()
    await page.clock.fastForward(61_000)
    await page.getByText(HOSTILE).waitFor({ state: 'detached' })
    expect(await page.textContent('main')).not.toContain('alert')
    const rows = (await server.run('audit', 'export')).trim().split('\n')
    const reveal = rows.map((row) => JSON.parse(row)).find(({ phase }) => phase === 'record_revealed')
    expect(reveal).toMatchObject({ detail: expect.stringMatching(/reason: request of the person.*by ada/) })
    expect(rows.join()).not.toContain(SOMEBODY.nin)
  })

  it('is shown as text in the answer of a verification', async () => {
    const { page } = someone
    const made = JSON.parse(
      await server.run('keys', 'create', '--name', 'counter', '--mode', 'live', '--json'),
    )
    await go(page, 'Try it')
    await page.getByRole('textbox', { name: 'nin' }).fill(SOMEBODY.nin)
    await page.getByRole('textbox', { name: 'phone' }).fill(SOMEBODY.phone)
    await page.getByRole('textbox', { name: 'API key' }).fill(made.key)
    await page
      .getByText(/a real person is asked about/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    await expectText()
    // The key that was typed is in no example.
    for (const language of ['curl', 'TypeScript', 'Python']) {
      await page.getByRole('radio', { name: language }).check()
      expect(await page.textContent('body')).not.toContain(made.key)
    }
  })

  it('is shown as text in the name of a key', async () => {
    await go(someone.page, 'Keys')
    await expectText()
  })

  it('is refused in the lists of the catalogue', async () => {
    const { page } = someone
    const lists = JSON.parse(await server.run('catalogue', 'export'))
    lists.internet[0].bundles[0].description = `${HOSTILE} ${HOSTILE_LINK}`
    await go(page, 'Catalogue')
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Or paste it' }).fill(JSON.stringify(lists))
    await dialog.getByRole('button', { name: 'Show what would change' }).click()
    await dialog.getByText(/holds markup/).waitFor()
    expect(await dialog.getByRole('button', { name: /^Put in force/ }).count()).toBe(0)
    expect(await page.locator('script').count()).toBe(1)
    expect(dialogs).toEqual([])
  })
})
