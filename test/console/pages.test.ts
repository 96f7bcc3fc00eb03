import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CHROMIUM, COLOUR_RULES, findAxeViolations } from './browser.ts'
import { setUpConsole } from './console-set-up.ts'
import { PAGES, startFilledServer } from './filled-server.ts'

const ASSETS = 'console/dist/assets'

const read = (name: string) => readFileSync(`${ASSETS}/${name}`, 'utf8')
const toBytes = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + gzipSync(read(name)).length, 0)

/** A script and those that it imports statically. */
function findScripts(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const [, next = ''] of read(name).matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g))
    findScripts(next, found)
  return found
}

describe('the compressed script', () => {
  const index = readFileSync('console/dist/index.html', 'utf8')
  const first = findScripts(/assets\/([^"]+\.js)"/.exec(index)?.[1] ?? '')
  const pages = readdirSync(ASSETS).filter((name) => name.endsWith('.js') && !first.has(name))

  it('of the start has at most 20 kB', () => {
    expect(toBytes(first)).toBeGreaterThan(5000)
    expect(toBytes(first)).toBeLessThanOrEqual(20_000)
  })

  it('of a page, with what it imports besides, has at most 37 kB', () => {
    expect(pages.length).toBeGreaterThan(PAGES.length - 1)
    const sizes = pages.map((name) => [name, toBytes(findScripts(name).difference(first))] as const)
    expect(sizes.filter(([, bytes]) => bytes > 37_000)).toEqual([])
  })
})

describe.skipIf(!CHROMIUM)('every page', () => {
  const at = setUpConsole({ start: startFilledServer })

  it.each(PAGES)('has no axe violations: $title', async ({ name, title, ready }) => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/${name}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await page.getByText(ready).first().waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    // The themes differ only in colours.
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await findAxeViolations(page, COLOUR_RULES)).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
    at.visitor.expectClean()
  })

  it.each(['#/no-such-page', '#/audit%2Fx', '/no/such/page'])('is "not found" at %s', async (address) => {
    const { page } = at.visitor
    at.visitor.allow(/status of 404/)
    await page.goto('about:blank')
    await page.goto(`${at.server.admin}/console${address}`)
    await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    await page.getByRole('link', { name: 'Go to the overview' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    at.visitor.expectClean()
  })

  it('says which lists of the catalogue are old', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/catalogue`)
    const spectranet = page.locator('summary').filter({ hasText: 'Internet spectranet' })
    await expect.poll(() => spectranet.textContent()).toMatch(/as of 1 Jan 2022 \d+ years old/)
    at.visitor.expectClean()
  })

  it('says what to do if its script cannot be loaded', async () => {
    const { page } = at.visitor
    at.visitor.allow(/Failed to (load resource|fetch)/)
    await page.route(/assets\/webhooks-.*\.js/, (route) => route.abort())
    await page.goto(`${at.server.admin}/console#/webhooks`)
    await page.getByText('This page could not be loaded.').waitFor()
    await page.unroute(/assets\/webhooks-.*\.js/)
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('hooks.example.com').first().waitFor()
    at.visitor.expectClean()
  })
})
