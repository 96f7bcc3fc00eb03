import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer } from './console-server.ts'
import { PAGES, startFilledServer } from './filled-server.ts'

const ASSETS = 'console/dist/assets'

it('has at most 60 kB of compressed script', () => {
  const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'))
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(`${ASSETS}/${name}`)).length, 0)
  expect(scripts.length).toBeGreaterThan(0)
  expect(bytes).toBeLessThanOrEqual(60_000)
})

describe.skipIf(!CHROMIUM)('every page', () => {
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  beforeAll(async () => {
    server = await startFilledServer()
    browser = await launch()
    visitor = await visit(browser)
    await acceptInvitation(visitor.page, await server.invite('owner'), 'ada')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  describe.each(['light', 'dark'] as const)('with the %s theme', (colorScheme) => {
    it.each(PAGES)('has no axe violations: $title', async ({ name, title, ready }) => {
      const { page } = visitor
      await page.emulateMedia({ colorScheme })
      await page.goto(`${server.admin}/console#/${name}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await page.getByText(ready).first().waitFor()
      // The themes differ only in colours.
      expect(await findAxeViolations(page, colorScheme === 'dark' ? ['color-contrast'] : undefined)).toEqual(
        [],
      )
      visitor.expectClean()
    })
  })

  const sizes = [320, 768, 1440].flatMap((width) => PAGES.map((page) => ({ ...page, width })))
  it.each(sizes)('fits on a $width px screen: $title', async ({ name, title, ready, width }) => {
    const { page } = visitor
    await page.setViewportSize({ width, height: 640 })
    await page.goto(`${server.admin}/console#/${name}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await page.getByText(ready).first().waitFor()
    const [content, window] = (await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )) as [number, number]
    expect(content).toBeLessThanOrEqual(window)
    await page.setViewportSize({ width: 1280, height: 900 })
    visitor.expectClean()
  })

  it('has dialogs that open and close with the keyboard', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/keys`)
    await page.getByRole('row', { name: /loans app/ }).waitFor()
    const create = page.getByRole('button', { name: 'Create key' })
    await create.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Create key')
    visitor.expectClean()
  })
})
