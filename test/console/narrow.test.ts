import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer } from './console-server.ts'
import { openLivelyHouse, ROOMS } from './lively.ts'

const WIDTH = 390

/** What a person can use and would have to scroll sideways for, with where it ends; and the width of the page. */
const FIND_BEYOND = `(() => {
  for (const details of document.querySelectorAll('details')) details.open = true
  const used = document.querySelectorAll('button, a[href], input, select, textarea, summary')
  const beyond = [...used].flatMap((element) => {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('.unseen')) return []
    const { left, right, width } = element.getBoundingClientRect()
    if (width <= 1 || (left >= 0 && right <= ${WIDTH})) return []
    return [(element.getAttribute('aria-label') || element.textContent || element.name || '').trim() + ' ends at ' + Math.round(right)]
  })
  return { beyond, page: document.documentElement.scrollWidth }
})()`

describe.skipIf(!CHROMIUM)(`at ${WIDTH} px`, () => {
  let server: ConsoleServer
  let browser: Browser
  let someone: Visit
  beforeAll(async () => {
    server = await openLivelyHouse()
    browser = await launch()
    someone = await visit(browser)
    await acceptInvitation(someone.page, await server.invite('owner'), 'ada')
    await server.invite('operator')
    await someone.page.setViewportSize({ width: WIDTH, height: 844 })
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  const findBeyond = () => someone.page.evaluate(FIND_BEYOND) as Promise<{ beyond: string[]; page: number }>

  it.each(ROOMS)('every action is on the screen: $title', async ({ name, title, ready }) => {
    const { page } = someone
    await page.goto(`${server.admin}/console#/${name}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await page.getByText(ready).first().waitFor()
    expect(await findBeyond()).toEqual({ beyond: [], page: WIDTH })
  })

  it('a key is revoked, and every button of the dialogs on the way is on the screen', async () => {
    const { page } = someone
    await page.goto(`${server.admin}/console#/keys`)
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').waitFor()
    expect((await findBeyond()).beyond).toEqual([])
    await page.keyboard.press('Escape')
    const revoke = page.getByRole('button', { name: 'Revoke loans app' })
    const box = await revoke.boundingBox()
    expect(box && box.x >= 0 && box.x + box.width <= WIDTH).toBe(true)
    await revoke.click()
    await page.getByRole('dialog').waitFor()
    expect((await findBeyond()).beyond).toEqual([])
    await page.keyboard.press('Escape')
  })

  it('the story of a verification is on the screen', async () => {
    const { page } = someone
    await page.goto(`${server.admin}/console#/audit`)
    await page.getByRole('link', { name: /^ver_/ }).first().click()
    await page.getByText('Asked for').first().waitFor()
    expect(await findBeyond()).toEqual({ beyond: [], page: WIDTH })
  })

  it('a table keeps its rows for those who do not see it', async () => {
    const { page } = someone
    await page.goto(`${server.admin}/console#/keys`)
    const row = page.getByRole('row', { name: /loans app/ })
    await row.waitFor()
    expect(await row.getByRole('cell').count()).toBeGreaterThan(5)
    expect(await page.getByRole('columnheader').count()).toBeGreaterThan(5)
  })
})
