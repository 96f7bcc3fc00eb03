import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, go, verifyNin } from './console-server.ts'
import { HOSTILE, startFilledServer } from './filled-server.ts'

describe.skipIf(!CHROMIUM)('the overview', () => {
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  beforeAll(async () => {
    server = await startFilledServer()
    const created = JSON.parse(
      await server.run('keys', 'create', '--name', 'till', '--mode', 'live', '--json'),
    )
    for (const nin of ['60000000001', '60000000002'])
      await verifyNin(server.api, created.key, nin, `0${toPhoneCoreOf(nin)}`)
    browser = await launch()
    visitor = await visit(browser)
    await acceptInvitation(visitor.page, await server.invite('owner'), 'ada')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  const tile = (name: string) =>
    visitor.page.locator('.tiles > div', { hasText: name }).locator('b').first().textContent()

  it('shows live traffic only, unless the address says otherwise', async () => {
    const { page } = visitor
    await expect.poll(() => tile('Verifications')).toBe('2')
    await page.getByRole('radio', { name: 'All', exact: true }).click()
    await expect.poll(() => tile('Verifications')).not.toBe('2')
    expect(page.url()).toContain('mode=all')
    const shared = page.url()
    await page.goto('about:blank')
    await page.goto(shared)
    await expect.poll(async () => Number(await tile('Verifications'))).toBeGreaterThan(20)
    visitor.expectClean()
  })

  it('follows an address that changes in the moment in which the page appears', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/keys`)
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.evaluate(`new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        if (!document.querySelector('.tiles, .bar [role=radiogroup], .bar fieldset')) return
        observer.disconnect()
        location.hash = '#/overview?mode=all&range=week'
        addEventListener('hashchange', resolve, { once: true })
      }).observe(document.body, { childList: true, subtree: true })
      location.hash = '#/overview'
    })`)
    await page.getByRole('radio', { name: 'All', exact: true, checked: true }).waitFor()
    await page.getByRole('radio', { name: 'Week', exact: true, checked: true }).waitFor()
    visitor.expectClean()
  })

  it("shows a range of one's own, which stands in the address", async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/overview`)
    await page.getByRole('radio', { name: 'Custom' }).click()
    await page.getByLabel('From', { exact: true }).fill('2026-01-01T00:00')
    await page.getByLabel('To', { exact: true }).fill('2026-01-02T00:00')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByText('No live requests in this period').waitFor()
    expect(page.url()).toMatch(/from=2026-01-0|from=2025-12-31/)
    await page.getByLabel('To', { exact: true }).fill('2025-01-02T00:00')
    visitor.allow(/status of 422/)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByRole('alert').waitFor()
    await page.getByRole('radio', { name: 'Day', exact: true }).click()
    await expect.poll(() => tile('Verifications')).toBe('2')
    visitor.expectClean()
  })

  it.each([
    ['Latency', 'p95'],
    ['Vendors', 'dojah'],
    ['Keys', 'till'],
  ])('has a chart of: %s, with its numbers as a table', async (name, text) => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/overview`)
    await page.getByRole('group', { name: 'Chart' }).getByRole('radio', { name }).click()
    await page.locator('.legend').getByText(text).waitFor()
    expect(page.url()).toContain(`chart=${name.toLowerCase()}`)
    await page.getByText('Show as table').click()
    await expect.poll(() => page.locator('details[open] tbody tr').count()).toBeGreaterThan(0)
    expect(await findAxeViolations(page)).toEqual([])
    visitor.expectClean()
  })

  it('counts calls, errors and spend of a vendor', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/overview?chart=vendors`)
    const row = page.getByRole('region', { name: 'Calls to vendors' }).getByRole('row', { name: /dojah/ })
    await expect.poll(() => row.textContent()).toMatch(/dojah2.*₦100\.00/)
    visitor.expectClean()
  })

  it('compares with the period before', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/overview`)
    await page.getByText('none in the period before').first().waitFor()
    await page.locator('.legend').getByText('Period before').waitFor()
    visitor.expectClean()
  })

  it('changes the call order of the sources, at 390 px and with the keyboard', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${server.admin}/console#/sources`)
    await page.getByRole('button', { name: 'Change order for NIN' }).click()
    const dialog = page.getByRole('dialog')
    expect(await findAxeViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Move dojah up' }).focus()
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Save order' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('It replaces the order of the setting.').waitFor()
    expect((await server.run('sources', 'order', 'nin')).trim()).toBe('dojah,registry')
    await page.getByRole('button', { name: 'Change order for NIN' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Use the order of the setting' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await server.run('sources', 'order', 'nin')).trim()).toBe('registry,dojah')
    await page.setViewportSize({ width: 1280, height: 900 })
    await go(page, 'Overview')
    visitor.expectClean()
  })

  it.each([390, 1440])('says what is proved of a vendor, at %i px', async (width) => {
    const { page } = visitor
    await page.setViewportSize({ width, height: 844 })
    await page.goto('about:blank')
    await page.goto(`${server.admin}/console#/sources`)
    await page.getByText('a file that comes with Tabbat').first().waitFor()
    const facts = page.locator('.facts').first()
    expect(await facts.getByRole('link').getAttribute('href')).toBe('https://docs.dojah.io')
    const text = (await facts.textContent()) ?? ''
    expect(text).toMatch(/Proved for NIN1 of \d+ rules and 1 of \d+ fields, by /)
    expect(text).toContain(`by ${HOSTILE} on 17 Nov 2026, at api.dojah.io`)
    expect(text).toContain('Rules not proved yet: no such person')
    expect(text).toContain('Proved for virtual NINnot proved yet. Run tabbat vendors certify dojah')
    expect(text).toContain('Proved for BVNnot proved yet. An earlier file was proved by ada on 17 Nov 2026')
    expect(await findAxeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 1280, height: 900 })
    visitor.expectClean()
  })

  it('finds pages, keys and verifications with /, and lists the shortcuts with ?', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/overview`)
    await page.getByText('Updating live').waitFor()
    await page.keyboard.press('/')
    const box = page.getByRole('dialog').getByRole('searchbox')
    await box.fill('catal')
    expect(await findAxeViolations(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Catalogue', level: 1 }).waitFor()
    await page.keyboard.press('/')
    await box.fill('loans')
    await page
      .getByRole('dialog')
      .getByRole('link', { name: /loans app/ })
      .click()
    await page.waitForURL(/#\/keys\/\w+/)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
    // In a dialog, keys are text.
    await page.keyboard.press('/')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(1)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    visitor.expectClean()
  })

  it('does not take / while a text is typed, and has the search at 390 px', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/audit`)
    await page.getByText('Filter by key, person, outcome, purpose…').click()
    const reference = page.getByRole('textbox', { name: 'Reference', exact: true })
    await reference.fill('a')
    await reference.press('/')
    expect([await reference.inputValue(), await page.getByRole('dialog').count()]).toEqual(['a/', 0])
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('/')
    await page.getByRole('dialog').getByRole('searchbox').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('button', { name: 'Search', exact: true }).first().click()
    await page.getByRole('dialog').getByRole('searchbox').fill('keys')
    await page.getByRole('dialog').getByRole('link', { name: /^Keys/ }).click()
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.setViewportSize({ width: 1280, height: 900 })
    visitor.expectClean()
  })
})
