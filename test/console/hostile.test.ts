import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, go, PASSWORD } from './console-server.ts'
import { HOSTILE, HOSTILE_LINK, PERSON, startFilledServer } from './filled-server.ts'

describe.skipIf(!CHROMIUM)('a text that contains a script', () => {
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  const dialogs: string[] = []
  beforeAll(async () => {
    server = await startFilledServer()
    browser = await launch()
    visitor = await visit(browser)
    visitor.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    await acceptInvitation(visitor.page, await server.invite('owner'), 'ada')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  /** The text is visible on this page, and nothing was created from it. */
  const expectText = async (title: string) => {
    const { page } = visitor
    // All at one moment: after a click, the text of the page before may still be there.
    const heading = page.getByRole('heading', { name: title, level: 1 })
    const main = page.getByRole('main').filter({ has: heading, hasText: HOSTILE })
    const shown = main.filter({ hasText: HOSTILE_LINK })
    await shown.getByText(HOSTILE).first().waitFor()
    expect(await page.locator('[href^="javascript:"], [src^="javascript:"]').count()).toBe(0)
    expect(await page.locator('script').count()).toBe(1)
    expect(dialogs).toEqual([])
    visitor.expectClean()
  }

  it('is shown as text in a record, which is masked, revealed and hidden again', async () => {
    const { page } = visitor
    await go(page, 'Records')
    await page.getByRole('textbox', { name: 'Number', exact: true }).fill(PERSON.nin)
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByText('****').first().waitFor()
    expect(await page.textContent('main')).not.toContain('alert')
    await page.getByRole('button', { name: /reveal/i }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Reason' }).fill('request of the person, case AB')
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await page.clock.install()
    await dialog.getByRole('button', { name: 'Reveal for 60 seconds' }).click()
    await expectText('Records')
    await page.clock.fastForward(61_000)
    await page.getByText(HOSTILE).waitFor({ state: 'detached' })
    expect(await page.textContent('main')).not.toContain('alert')
    const rows = (await server.run('audit', 'export')).trim().split('\n')
    const reveal = rows.map((row) => JSON.parse(row)).find(({ phase }) => phase === 'record_revealed')
    expect(reveal).toMatchObject({ detail: expect.stringMatching(/reason: request of the person.*by ada/) })
    expect(rows.join()).not.toContain(PERSON.nin)
  })

  it('is shown as text in the response of a verification', async () => {
    const { page } = visitor
    const created = JSON.parse(
      await server.run('keys', 'create', '--name', 'counter', '--mode', 'live', '--json'),
    )
    await go(page, 'Try it')
    await page.getByRole('textbox', { name: 'nin' }).fill(PERSON.nin)
    await page.getByRole('textbox', { name: 'phone' }).fill(PERSON.phone)
    await page.getByRole('textbox', { name: 'API key' }).fill(created.key)
    await page
      .getByText(/about a real person/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    await expectText('Try it')
    // No example contains the entered key.
    for (const language of ['curl', 'TypeScript', 'Python']) {
      await page.getByRole('radio', { name: language }).check()
      expect(await page.textContent('body')).not.toContain(created.key)
    }
  })

  it('is shown as text in the name of a key', async () => {
    await go(visitor.page, 'Keys')
    await expectText('Keys')
  })

  it('is refused in the lists of the catalogue', async () => {
    const { page } = visitor
    const lists = JSON.parse(await server.run('catalogue', 'export'))
    lists.internet[0].bundles[0].description = `${HOSTILE} ${HOSTILE_LINK}`
    await go(page, 'Catalogue')
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Or paste JSON' }).fill(JSON.stringify(lists))
    await dialog.getByRole('button', { name: 'Preview changes' }).click()
    await dialog.getByText(/holds markup/).waitFor()
    expect(await dialog.getByRole('button', { name: /^Activate/ }).count()).toBe(0)
    expect(await page.locator('script').count()).toBe(1)
    expect(dialogs).toEqual([])
  })
})
