import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM } from './browser.ts'
import { setUpConsole } from './console-set-up.ts'
import { PAGES, startFilledServer } from './filled-server.ts'

const WIDTH = 390
/** A tablet, and a small window with the navigation beside the page. */
const MEDIUM_WIDTHS = [768, 1024]

/** Controls outside the screen, with their right edge, and the width of the page. */
const FIND_BEYOND = `(() => {
  for (const details of document.querySelectorAll('details')) details.open = true
  const used = document.querySelectorAll('button, a[href], input, select, textarea, summary')
  const beyond = [...used].flatMap((element) => {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('.visually-hidden')) return []
    const { left, right, width } = element.getBoundingClientRect()
    const box = element.closest('.scrolls, body').getBoundingClientRect()
    if (width <= 1 || (left >= box.left - 1 && right <= box.right + 1)) return []
    return [(element.getAttribute('aria-label') || element.textContent || element.name || '').trim() + ' ends at ' + Math.round(right)]
  })
  return { beyond, page: document.documentElement.scrollWidth }
})()`

describe.skipIf(!CHROMIUM)(`at ${WIDTH} px`, () => {
  const at = setUpConsole({ start: startFilledServer })
  beforeAll(async () => {
    await at.server.invite('operator')
    await at.visitor.page.setViewportSize({ width: WIDTH, height: 844 })
  })

  const findBeyond = () =>
    at.visitor.page.evaluate(FIND_BEYOND) as Promise<{ beyond: string[]; page: number }>

  it.each(PAGES)('every action is on the screen: $title', async ({ name, title, ready }) => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/${name}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await page.getByText(ready).first().waitFor()
    expect(await findBeyond()).toEqual({ beyond: [], page: WIDTH })
  })

  const medium = MEDIUM_WIDTHS.flatMap((width) => PAGES.map((page) => ({ ...page, width })))
  it.each(medium)(
    'every action is on a screen of $width px: $title',
    async ({ name, title, ready, width }) => {
      const { page } = at.visitor
      await page.setViewportSize({ width, height: 844 })
      await page.goto(`${at.server.admin}/console#/${name}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await page.getByText(ready).first().waitFor()
      expect(await findBeyond()).toEqual({ beyond: [], page: width })
      await page.setViewportSize({ width: WIDTH, height: 844 })
    },
  )

  it.each(['chart=latency', 'chart=vendors', 'chart=keys&mode=all', 'from=2026-01-01T00:00:00Z'])(
    'every action is on the screen: the overview with %s',
    async (filters) => {
      const { page } = at.visitor
      await page.goto(`${at.server.admin}/console#/overview?${filters}`)
      await page.getByText('Show as table').or(page.getByText('No vendor was called')).first().waitFor()
      expect(await findBeyond()).toEqual({ beyond: [], page: WIDTH })
    },
  )

  it('every page is in the menu', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/overview`)
    await page.getByRole('button', { name: 'Menu' }).click()
    const menu = page.getByRole('navigation', { name: 'Main' })
    await expect.poll(() => menu.getByRole('link').count()).toBeGreaterThanOrEqual(PAGES.length - 1)
    expect(await findBeyond()).toEqual({ beyond: [], page: WIDTH })
  })

  it('every button of the key dialogs is on the screen', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/keys`)
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('dialog').waitFor()
    expect((await findBeyond()).beyond).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Change loans app' }).click()
    await page.getByRole('dialog', { name: 'Change this key' }).waitFor()
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

  it('the timeline of a verification fits', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/audit`)
    await page.getByRole('link', { name: /^ver_/ }).first().click()
    await page.getByText('Requested').first().waitFor()
    expect(await findBeyond()).toEqual({ beyond: [], page: WIDTH })
  })

  it('a table keeps its roles for screen readers', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/keys`)
    const row = page.getByRole('row', { name: /loans app/ })
    await row.waitFor()
    await expect.poll(() => row.getByRole('cell').count()).toBeGreaterThan(5)
    await expect.poll(() => page.getByRole('columnheader').count()).toBeGreaterThan(5)
  })
})
