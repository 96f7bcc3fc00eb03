import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { CHROMIUM, COLOUR_RULES, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

const NIN = '45678901234'
const PHONE = '08031234567'

/** Types a purpose when its field appears, before the effects of the page run. */
const TYPE_WHEN_THERE = `new MutationObserver((_, observer) => {
  const field = document.querySelector('input[placeholder="loan"]')
  if (!field) return
  observer.disconnect()
  field.value = 'rent'
  field.dispatchEvent(new Event('input', { bubbles: true }))
}).observe(document.body, { childList: true, subtree: true })`

describe.skipIf(!CHROMIUM)('the page Audit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-audit-page-'))
  let vendor: Awaited<ReturnType<typeof openStandIn>>
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit

  const createKey = async (name: string) =>
    String(JSON.parse(await server.run('keys', 'create', '--name', name, '--mode', 'live', '--json')).key)
  const verify = (key: string, nin: string, phone = PHONE, headers = {}) =>
    fetch(`${server.api}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'x-consent-reference': 'shop/17',
        ...headers,
      },
      body: JSON.stringify({ nin, phone }),
    })

  beforeAll(async () => {
    vendor = await openStandIn(dojah)
    server = await startConsoleServer({ TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings })
    const [loans, cards] = [await createKey('loans app'), await createKey('cards')]
    for (const nin of [NIN, '45678901235']) await verify(loans, nin)
    await verify(loans, '45678901236', '08000000000', { 'x-purpose': 'loan' })
    await verify(cards, NIN)
    browser = await launch()
    visitor = await visit(browser)
    await acceptInvitation(visitor.page, await server.invite('operator'), 'ada')
    await visitor.page.goto(`${server.admin}/console#/audit`)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await vendor?.close()
  })

  const listed = () => visitor.page.getByRole('table').first().getByRole('row')
  /** Without the row of titles. */
  const countListed = () => expect.poll(async () => (await listed().count()) - 1)

  it('has one line for each verification, with the name of its key and its sources', async () => {
    const { page } = visitor
    await countListed().toBe(4)
    const text = (await listed().allTextContents()).join('\n')
    expect(text).toMatch(/loans app.*dojah: /)
    expect(text).toMatch(/cards/)
    expect(text).toMatch(/shop\/17/)
    await page.getByText(/^Read \d+ rows of the log\.$/).waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    visitor.expectClean()
  })

  /** The form is folded away: the results come first. */
  const openFilters = async () => {
    const isOpen = await visitor.page.getByRole('textbox', { name: 'NIN or BVN' }).isVisible()
    if (!isOpen) await visitor.page.getByText('Filter by key, person, outcome, purpose…').click()
  }

  it('keeps its filters in the address, which another person can open', async () => {
    const { page } = visitor
    await openFilters()
    await page.getByRole('combobox', { name: 'Key' }).fill('loans app')
    await page.getByRole('combobox', { name: 'Source' }).selectOption('dojah')
    await page.getByRole('textbox', { name: 'Consent reference' }).fill('shop/17')
    await page.locator('main').getByRole('button', { name: 'Search' }).click()
    await countListed().toBe(3)
    expect(new URL(page.url()).hash).toBe('#/audit?key=loans+app&source=dojah&consent_reference=shop%2F17')
    const address = page.url()
    await page.goto(`${server.admin}/console#/keys`)
    await page.goto(address)
    await countListed().toBe(3)
    await openFilters()
    expect(await page.getByRole('combobox', { name: 'Key' }).inputValue()).toBe('loans app')
    await page.getByRole('combobox', { name: 'Source' }).selectOption('registry')
    await page.locator('main').getByRole('button', { name: 'Search' }).click()
    await page.getByText('Nothing fits this search.').waitFor()
    await openFilters()
    await page.getByRole('button', { name: 'Clear' }).click()
    await countListed().toBe(4)
    expect(new URL(page.url()).hash).toBe('#/audit')
    visitor.expectClean()
  })

  it('searches also while the first list is loading', async () => {
    const { page } = visitor
    const released = Promise.withResolvers<void>()
    let count = 0
    await page.route('**/admin/audit/verifications/search', async (route) => {
      count += 1
      if (count === 1) await released.promise
      await route.continue()
    })
    await page.reload()
    await openFilters()
    await page.getByRole('textbox', { name: 'Consent reference' }).fill('shop/18')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing fits this search.').waitFor()
    released.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    expect(await page.getByText('Nothing fits this search.').count()).toBe(1)
    await openFilters()
    await page.getByRole('button', { name: 'Clear' }).click()
    await countListed().toBe(4)
    visitor.expectClean()
  })

  it('shows nothing of the last search under the filters of one that failed', async () => {
    const { page } = visitor
    visitor.allow(/status of 503/)
    const body = JSON.stringify({ code: 'audit_unavailable', message: 'Not now.' })
    await page.route('**/admin/audit/verifications/search', (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body }),
    )
    await openFilters()
    await page.getByRole('textbox', { name: 'Consent reference' }).fill('shop/19')
    await page.keyboard.press('Enter')
    await page.getByText('The database cannot be used now.').first().waitFor()
    await countListed().toBe(-1)
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('button', { name: /Remove the filter Consent reference/ }).click()
    await countListed().toBe(4)
    visitor.expectClean()
  })

  it('keeps what is typed the moment the form is there', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/keys`)
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
    await page.evaluate(TYPE_WHEN_THERE)
    await page.goto(`${server.admin}/console#/audit`)
    await countListed().toBe(4)
    await openFilters()
    const purpose = page.getByPlaceholder('loan', { exact: true })
    expect(await purpose.inputValue()).toBe('rent')
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => purpose.inputValue()).toBe('')
    await countListed().toBe(4)
    visitor.expectClean()
  })

  it('has the keyed hash of a typed number in the address, and not the number', async () => {
    const { page } = visitor
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await openFilters()
    await page.getByRole('textbox', { name: 'NIN or BVN' }).fill(NIN)
    await page.locator('main').getByRole('button', { name: 'Search' }).click()
    await countListed().toBe(2)
    await expect.poll(() => page.url()).toMatch(/#\/audit\?person=[0-9a-f]{64}$/)
    const field = page.getByRole('textbox', { name: 'NIN or BVN', includeHidden: true })
    await expect.poll(() => field.inputValue()).toBe('')
    await page.reload()
    await countListed().toBe(2)
    expect([...asked, page.url()].filter((url) => url.includes(NIN))).toEqual([])
    expect((await server.run('audit', 'export')).match(/"phase":"audit_searched"/g)).toHaveLength(2)
    visitor.expectClean()
  })

  it.each(['CSV', 'NDJSON'])('exports what is listed as %s, which is verified alone', async (format) => {
    const { page } = visitor
    const key = join(folder, 'key.pem')
    writeFileSync(key, await server.run('audit', 'public-key'))
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: format, exact: true }).click()
    const path = await (await downloading).path()
    const result = await server.run('audit', 'verify-extract', path, '--public-key', key, '--json')
    expect(JSON.parse(result)).toMatchObject({
      sound: true,
      rows: 4,
      unproved: 0,
      about: { filter: { person: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    })
    expect(await page.getByRole('link', { name: 'Download the public key' }).getAttribute('href')).toBe(
      '/admin/audit/public-key.pem',
    )
    await page.getByLabel('Check an extract').setInputFiles(path)
    await page.getByText('The extract is as it was signed.').waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Remove the filter One person' }).click()
    await countListed().toBe(4)
    await page.goto(`${server.admin}/console#/audit?person=${JSON.parse(result).about.filter.person}`)
    await countListed().toBe(2)
    visitor.expectClean()
  })

  it('lists single rows, also of administrative events', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/audit`)
    await page.getByRole('radio', { name: 'Single rows' }).click()
    await openFilters()
    await page.getByRole('combobox', { name: 'Phase' }).selectOption('key_created')
    await page.locator('main').getByRole('button', { name: 'Search' }).click()
    await countListed().toBe(2)
    expect(new URL(page.url()).hash).toBe('#/audit?view=rows&phase=key_created')
    expect(await findAxeViolations(page)).toEqual([])
    visitor.expectClean()
  })

  it('compares the log with a copy of its checkpoints, and says how far that goes', async () => {
    const { page } = visitor
    const kept = join(folder, 'kept.log')
    copyFileSync(join(server.dataDir, 'checkpoints.log'), kept)
    await page.getByText('Verify the log against its checkpoints').click()
    await page.getByLabel('A checkpoints.log that was kept elsewhere').setInputFiles(kept)
    await page.getByRole('button', { name: 'Compare with this file' }).click()
    await page
      .getByText(
        /^No difference was found between the audit log and the checkpoints in the uploaded file, but a cut after 2\S+Z cannot be seen without newer checkpoints\.$/,
      )
      .waitFor()
    const compressed = join(folder, 'compressed.log')
    writeFileSync(compressed, '\u001f\u008b')
    await page.getByLabel('A checkpoints.log that was kept elsewhere').setInputFiles(compressed)
    visitor.allow(/409/)
    await page.getByRole('button', { name: 'Compare with this file' }).click()
    await page.getByText('The file is compressed. Unpack it with gunzip, then upload it.').waitFor()
    visitor.expectClean()
  })

  it('chooses a period with one click, and filters by purpose', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/audit`)
    await page.getByRole('button', { name: 'Last month' }).click()
    await page.getByText('Nothing fits this search.').waitFor()
    await page.getByText('There is nothing to export').waitFor()
    await page.getByRole('button', { name: 'This month' }).click()
    await countListed().toBe(4)
    const months = page.getByRole('combobox', { name: 'Month' })
    await months.selectOption({ index: 1 })
    await countListed().toBe(4)
    expect(await page.getByRole('button', { name: 'This month' }).getAttribute('aria-pressed')).toBe('true')
    for (const name of [/^Remove the filter From /, /^Remove the filter To /])
      await page.getByRole('button', { name }).click()
    expect(new URL(page.url()).hash).toBe('#/audit')
    await openFilters()
    await page.getByRole('combobox', { name: 'Purpose' }).fill('loan')
    await page.locator('main').getByRole('button', { name: 'Search' }).click()
    await countListed().toBe(1)
    expect((await listed().allTextContents()).join('\n')).toMatch(/the phone differed.*loan/)
    visitor.expectClean()
  })

  it('says that no verification has a reference, and that no key has a name', async () => {
    const { page } = visitor
    const reference = `ver_${'0'.repeat(36)}`
    await page.goto(`${server.admin}/console#/audit?reference=${reference}`)
    await page.getByText(/^No verification in the audit log has this reference\./).waitFor()
    visitor.allow(/404|422/)
    await page.goto(`${server.admin}/console#/audit/${reference}`)
    await page.getByText('No verification in the audit log has this reference.').waitFor()
    await page.goto(`${server.admin}/console#/audit?key=loans+ap`)
    await page
      .getByText(/key must be the name or the id of a key/i)
      .first()
      .waitFor()
    expect(await page.getByRole('link', { name: 'CSV', exact: true }).count()).toBe(0)
    visitor.expectClean()
  })

  it.each([390, 768, 1024, 1440])('holds at %i px and at twice the zoom, in both themes', async (width) => {
    const { page } = visitor
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme })
      // Opened anew: colours do not change under the eyes of axe.
      await page.goto('about:blank')
      await page.goto(`${server.admin}/console#/audit?purpose=loan`)
      await countListed().toBe(1)
      for (const wide of scheme === 'light' ? [width / 2, width] : [width]) {
        await page.setViewportSize({ width: wide, height: 900 })
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
          Math.max(wide, 320),
        )
        expect(await findAxeViolations(page, scheme === 'dark' ? COLOUR_RULES : undefined)).toEqual([])
      }
    }
    visitor.expectClean()
  })

  it('has every action on a screen of 390 px', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${server.admin}/console#/audit`)
    await countListed().toBe(4)
    for (const name of ['CSV', 'NDJSON', 'All rows']) {
      const box = await page.getByRole('link', { name, exact: true }).boundingBox()
      expect(box && box.x >= 0 && box.x + box.width <= 390).toBe(true)
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    visitor.expectClean()
  })
})
