import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSite } from '../../guide/site.ts'
import { CHROMIUM, COLOUR_RULES, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { type ConsoleServer, startConsoleServer } from './console-server.ts'

/** Pages of each kind: the index, prose with a drawing, tables. The references have the tables of /docs, see docs-page.test.ts. */
const SAMPLE = ['index', 'keys', 'alerts', 'not-found']

const site = createSite('.')
const names = [...site.keys()].filter((name) => name.endsWith('.html'))

let folder: string
let browser: Browser
let visitor: Visit
beforeAll(async () => {
  if (!CHROMIUM) return
  folder = mkdtempSync(join(tmpdir(), 'tabbat-guide-'))
  for (const [name, content] of site) writeFileSync(join(folder, name), content)
  browser = await launch()
  visitor = await visit(browser)
})
afterAll(async () => {
  await browser?.close()
  if (folder) rmSync(folder, { recursive: true })
})

const toUrl = (name: string) => `${pathToFileURL(join(folder, name))}`

/** How far the page is wider than the window. */
const measureOverflow = async (page: Page) =>
  Number(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'))

describe.skipIf(!CHROMIUM)('the guide, opened from a folder', () => {
  it.each(names)('loads nothing from elsewhere, and fits on narrow and wide screens: %s', async (name) => {
    const { page } = visitor
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(toUrl(name))
    const overflow = [await measureOverflow(page)]
    for (const width of [1000, 1440]) {
      await page.setViewportSize({ width, height: 800 })
      overflow.push(await measureOverflow(page))
    }
    expect(overflow).toEqual([0, 0, 0])
    visitor.expectClean()
  })

  describe.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const)('with the %s theme at %d px', (colorScheme, width) => {
    it.each(SAMPLE)('has no axe violations: %s', async (name) => {
      const { page } = visitor
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      await page.goto(toUrl(`${name}.html`))
      // The themes differ only in colours.
      const rules = colorScheme === 'dark' ? COLOUR_RULES : undefined
      expect(await findAxeViolations(page, rules)).toEqual([])
    })
  })

  it('finds words by their beginning, with the keyboard alone', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(toUrl('index.html'))
    await page.keyboard.press('/')
    await page.keyboard.type('root key rotat')
    const results = page.locator('#results a')
    await results.first().waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    const href = await results.first().getAttribute('href')
    expect(await results.allTextContents()).toContainEqual(expect.stringContaining('Rotating'))
    expect(await findAxeViolations(page)).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.href.endsWith(`/${href}`))
    expect(await page.locator(`[id="${href?.split('#')[1]}"]`).count()).toBe(1)
    visitor.expectClean()
  })

  it('says when nothing is found, and closes with Escape', async () => {
    const { page } = visitor
    await page.goto(toUrl('keys.html'))
    await page.getByRole('searchbox').fill('zyxwvut (')
    await page.getByText('Nothing found.').waitFor()
    await page.keyboard.press('Escape')
    await page.locator('#results').waitFor({ state: 'hidden' })
    expect(await page.locator('#search-status').textContent()).toBe('')
    visitor.expectClean()
  })

  it('keeps the chosen theme', async () => {
    const { page } = visitor
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(toUrl('keys.html'))
    const toColour = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    expect(await toColour()).toBe('rgb(255, 255, 255)')
    await page.getByLabel('Theme').selectOption('dark')
    expect(await toColour()).toBe('rgb(16, 22, 19)')
    await page.goto(toUrl('index.html'))
    expect(await toColour()).toBe('rgb(16, 22, 19)')
    await page.emulateMedia({ media: 'print' })
    expect(await toColour()).toBe('rgb(255, 255, 255)')
    await page.emulateMedia({ media: 'screen' })
    await page.getByLabel('Theme').selectOption('auto')
    expect(await toColour()).toBe('rgb(255, 255, 255)')
  })

  it('copies a command', async () => {
    const { page } = visitor
    await page.goto(toUrl('readme.html'))
    const figure = page.locator('figure.command').first()
    await figure.getByRole('button', { name: 'Copy' }).click()
    await figure.getByRole('button', { name: 'Copied' }).waitFor()
  })

  it('can be read without script', async () => {
    const { page, close } = await visit(browser, {
      javaScriptEnabled: false,
      viewport: { width: 390, height: 800 },
    })
    await page.goto(toUrl('keys.html'))
    expect(await page.getByRole('searchbox').count()).toBe(0)
    await page.getByRole('link', { name: 'Contents', exact: true }).click()
    await page.getByRole('navigation', { name: 'Contents' }).getByRole('link', { name: 'Batches' }).click()
    await page.getByRole('heading', { name: 'Batches', level: 1 }).waitFor()
    await close()
  })
})

describe.skipIf(!CHROMIUM)('the guide on a server', () => {
  let server: ConsoleServer
  beforeAll(async () => {
    server = await startConsoleServer()
  })
  afterAll(() => server.stop())

  it('works under its policy, without signing in', async () => {
    const { page, expectClean, close } = await visit(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.goto(`${server.admin}/guide`)
    await page.getByRole('heading', { name: 'The guide of Tabbat', level: 1 }).waitFor()
    await page
      .getByRole('navigation', { name: 'Contents' })
      .getByRole('link', { name: 'API', exact: true })
      .click()
    await page.getByRole('heading', { name: 'API', level: 1 }).waitFor()
    const figure = page.locator('figure.command').first()
    await figure.getByRole('button', { name: 'Copy' }).click()
    await figure.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('tbt_test_sandbox')
    await page.getByRole('searchbox').fill('spend cap')
    await page.locator('#results a').first().waitFor()
    expectClean()
    await close()
  })
})
