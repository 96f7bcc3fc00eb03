import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CAUSES, FAILOVER, type Prepared } from '../fail-closed/causes.ts'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer, verifyNin } from './console-server.ts'

/** Enough on a busy machine. */
const REFUSED = 12

/** A PostgreSQL that is down does not come back here: another takes over. */
const SHOWN = [...CAUSES.filter(({ name }) => name !== 'PostgreSQL is down'), FAILOVER]

describe.skipIf(!CHROMIUM).each(SHOWN)('the console while $name', ({ name: cause, missing, prepare }) => {
  let prepared: Prepared
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  let end: () => Promise<void>
  beforeAll(async () => {
    if (missing !== undefined) return
    prepared = await prepare()
    server = await startConsoleServer({
      TABBAT_WORKERS: '2',
      TABBAT_STORE_TIMEOUT: '4s',
      ...prepared.settings,
    })
    browser = await launch()
    visitor = await visit(browser)
    // The store is away: a page that needs it says so.
    visitor.allow(/status of 503|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE/)
    await acceptInvitation(visitor.page, await server.invite('owner'), 'ada')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await prepared?.cleanUp()
  })

  let failed = 0
  const verify = async (nin: number) => {
    const { status } = await verifyNin(server.api, SANDBOX_KEY, String(nin))
    if (status === 503) failed += 1
    return status
  }
  const openOverview = (page: Page, range: string) =>
    page.goto(`${server.admin}/console#/overview?mode=test&range=${range}`)
  const tile = (page: Page, name: string) =>
    page
      .locator('.tiles > div')
      .filter({ has: page.getByText(name, { exact: true }) })
      .textContent()

  it.skipIf(missing)('shows what callers get, from all workers', async () => {
    const { page } = visitor
    await openOverview(page, 'hour')
    await page.getByText('Updating live').waitFor()
    for (let count = 0; count < 4; count++) expect(await verify(30_000_000_000 + count)).toBe(200)
    await expect.poll(() => tile(page, 'Answered')).toContain('100%0 not answered')
    // All four: what one worker has not written yet could not be read later.
    await expect.poll(() => tile(page, 'Requests')).toContain('40 refused, 0 failed')
    end = await prepared.begin(0)
    for (let count = 0; count < REFUSED; count++) expect(await verify(31_000_000_000 + count)).toBe(503)
    await expect.poll(() => tile(page, 'Answered')).toContain(`25%${REFUSED} not answered`)
    expect(await tile(page, 'Requests')).toContain(`160 refused, ${REFUSED} failed`)
    expect(await tile(page, 'Verified')).toContain('100%0 not verified')
    // With a full disk or a lock, all figures can still be read.
    const state = cause === FAILOVER.name ? /^Updating requests live. Other figures are of/ : 'Updating live'
    await page.getByText(state).waitFor()
    const causes = page.getByRole('region', { name: 'Requests that were not answered' })
    expect(await causes.getByRole('row', { name: /audit unavailable/ }).textContent()).toContain(
      `503${REFUSED}75%`,
    )
    await page.locator('.legend').getByText(`Failed (5xx) ${REFUSED}`).waitFor()
    visitor.expectClean()
  })

  it.skipIf(missing)('says on every page what is wrong, and what to do', async () => {
    const { page } = visitor
    const strip = page.getByRole('region', { name: 'Health of the server' })
    for (const title of ['Overview', 'Keys', 'Storage']) {
      await page.goto('about:blank')
      await page.goto(`${server.admin}/console#/${title.toLowerCase()}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await strip.getByText('The server cannot write it, so verifications get 503.').waitFor()
    }
    // What was read before does not stand for now.
    await strip.getByText(/warning/).click()
    const revocations = strip.getByRole('listitem').filter({ hasText: /^\S*revocations/ })
    await revocations.getByText('Not checked: the database cannot be used now.').waitFor()
    if (cause === FAILOVER.name) {
      await strip.getByText('If a standby takes over, this ends by itself').waitFor()
      await page.getByText('The database cannot be used now. The page tries again every 5 seconds.').waitFor()
    }
    if (cause === 'the disk is full') {
      await strip.getByText(/^The disk of .* is full\. .* free some space\./).waitFor()
      await page.getByText('now: free some space').waitFor()
      expect(await page.getByText('Not known').count()).toBe(0)
    }
    for (const width of [390, 768, 1024, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      expect([width, await findAxeViolations(page)]).toEqual([width, []])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
    // Zoom 200 % halves the pixels of the page.
    await page.setViewportSize({ width: 640, height: 450 })
    await page.emulateMedia({ colorScheme: 'dark' })
    // Colours change over a moment.
    await expect.poll(() => findAxeViolations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 900 })
    visitor.expectClean()
  })

  it.skipIf(missing)('shows new requests live, though none can be written', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/requests?live=on`)
    await page.getByText('New requests are added').waitFor()
    expect(await verify(32_000_000_001)).toBe(503)
    await page.getByRole('row', { name: /503/ }).first().waitFor()
    // With a full disk or a lock, keys can be read; else this stream is refused.
    await page.goto(`${server.admin}/console#/requests?live=on&key=sandbox0`)
    const state = cause === FAILOVER.name ? 'Reconnecting…' : 'New requests are added'
    await page.getByText(state).waitFor()
    visitor.expectClean()
  })

  it.skipIf(missing)('has the same figures after it, of every request', async () => {
    const { page } = visitor
    await end()
    // What was refused is read again without a reload.
    await page.getByText('New requests are added').waitFor()
    await page.getByText('Not answered: refused, failed').waitFor()
    await page.getByText('The database cannot be used now.').first().waitFor({ state: 'detached' })
    await expect.poll(() => verify(33_000_000_001)).toBe(200)
    await page.goto('about:blank')
    await openOverview(page, 'day')
    const strip = page.getByRole('region', { name: 'Health of the server' })
    await strip.getByText('The server cannot write it').waitFor({ state: 'detached' })
    await expect.poll(() => tile(page, 'Requests')).toContain(` ${failed} failed`)
    await page.goto('about:blank')
    await server.restart()
    await openOverview(page, 'month')
    await expect.poll(() => tile(page, 'Requests')).toContain(` ${failed} failed`)
    visitor.expectClean()
  })
})
