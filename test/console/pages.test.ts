import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, findBarriers, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer } from './console-server.ts'
import { openLivelyHouse, ROOMS } from './lively.ts'

const ASSETS = 'console/dist/assets'

it('weighs no more than 60 kB of script', () => {
  const scripts = readdirSync(ASSETS).filter((name) => name.endsWith('.js'))
  const bytes = scripts.reduce((sum, name) => sum + gzipSync(readFileSync(`${ASSETS}/${name}`)).length, 0)
  expect(scripts.length).toBeGreaterThan(0)
  expect(bytes).toBeLessThanOrEqual(60_000)
})

describe.skipIf(!CHROMIUM)('every room', () => {
  let server: ConsoleServer
  let browser: Browser
  let someone: Visit
  beforeAll(async () => {
    server = await openLivelyHouse()
    browser = await launch()
    someone = await visit(browser)
    await acceptInvitation(someone.page, await server.invite('owner'), 'ada')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  describe.each(['light', 'dark'] as const)('in the %s', (colorScheme) => {
    it.each(ROOMS)('can be used by everybody: $title', async ({ name, title, ready }) => {
      const { page } = someone
      await page.emulateMedia({ colorScheme })
      await page.goto(`${server.admin}/console#/${name}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await page.getByText(ready).first().waitFor()
      // Nothing but colours differs from one to the other.
      expect(await findBarriers(page, colorScheme === 'dark' ? ['color-contrast'] : undefined)).toEqual([])
      someone.expectClean()
    })
  })

  it.each(ROOMS)('fits on a small phone: $title', async ({ name, title, ready }) => {
    const { page } = someone
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(`${server.admin}/console#/${name}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await page.getByText(ready).first().waitFor()
    const [content, window] = (await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )) as [number, number]
    expect(content).toBeLessThanOrEqual(window)
    await page.setViewportSize({ width: 1280, height: 900 })
    someone.expectClean()
  })

  it('can be reached and left with the keyboard alone', async () => {
    const { page } = someone
    await page.goto(`${server.admin}/console#/keys`)
    await page.getByRole('row', { name: /loans app/ }).waitFor()
    const create = page.getByRole('button', { name: 'Create key' })
    await create.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Create key')
    someone.expectClean()
  })
})
