import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CHROMIUM, findAxeViolations } from './browser.ts'
import { verifyNin } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'
import { PAGES, startFilledServer } from './filled-server.ts'

/** Of phones, tablets and windows, and at the zoom of 200 % of 1440 and 1280 px and of 400 % of 1280 px. */
const WIDTHS = [320, 390, 640, 720, 768, 900, 1024, 1100, 1200, 1440]
/** Three pages of keys, and two of endpoints. */
const KEYS = 150
const ENDPOINTS = 60

/** Cells that are covered by another one, or whose text leaves them, and tables that must be scrolled sideways. */
const FIND_COVERED = `[...document.querySelectorAll('table.rows')].flatMap((table) => {
  const box = table.closest('.scrolls')
  if (!table.checkVisibility() || box.clientWidth === 0) return []
  const name = box.getAttribute('aria-label')
  const wide = box.scrollWidth > box.clientWidth + 1 ? [name + ' must be scrolled'] : []
  return [...table.rows].slice(1).flatMap((row) => {
    const cells = [...row.cells].filter((cell) => cell.checkVisibility())
    return cells.flatMap((cell, index) => {
      const { left, right, top, bottom } = cell.getBoundingClientRect()
      const range = document.createRange()
      range.selectNodeContents(cell)
      const out = [...cell.querySelectorAll('*')].some((part) => {
        const shown = part.getBoundingClientRect()
        return !part.closest('.clip') && shown.width > 1 && (shown.left < left - 1 || shown.right > right + 1)
      })
      const covered = cells.slice(index + 1).some((other) => {
        const next = other.getBoundingClientRect()
        return next.left < right - 1 && next.right > left + 1 && next.top < bottom - 1 && next.bottom > top + 1
      })
      return out || covered ? [name + ': ' + cell.dataset.title] : []
    })
  }).concat(wide)
})`

/** What a button or a link of a page exports. In a new document: Chromium drops the eleventh download of one. */
async function readExport(page: Page, address: string, role: 'button' | 'link', label: string) {
  await page.goto('about:blank')
  await page.goto(address)
  const downloading = page.waitForEvent('download')
  await page.getByRole(role, { name: `Export CSV: ${label}`, exact: true }).click()
  return readFileSync(await (await downloading).path(), 'utf8')
}

const IS_WIDER = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'

/** Ids whose last character is outside the box that shows them. */
const FIND_CUT = `[...document.querySelectorAll('td code.clip')].flatMap((code) => {
  const range = document.createRange()
  const text = code.firstChild
  range.setStart(text, text.length - 1)
  range.setEnd(text, text.length)
  const [end, box] = [range.getBoundingClientRect(), code.getBoundingClientRect()]
  return end.left >= box.left - 1 && end.right <= box.right + 1 ? [] : [text.data]
})`

describe.skipIf(!CHROMIUM)('the tables', () => {
  const at = setUpConsole({ start: startFilledServer })
  beforeAll(async () => {
    await at.visitor.page.evaluate(`(async () => {
      const post = async (path, body) => {
        const { status } = await fetch(path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        if (status >= 300) throw new Error(path + ' was answered ' + status)
      }
      for (let each = 1; each <= ${KEYS}; each++)
        await post('/admin/keys', { name: 'branch ' + each, mode: 'test', scopes: ['kyc:nin'] })
      for (let each = 1; each <= ${ENDPOINTS}; each++)
        await post('/admin/webhooks', {
          name: 'receiver ' + each,
          url: 'https://hooks-' + each + '.example.com/tabbat',
          events: ['source.down'],
        })
    })()`)
  })

  it.each(PAGES)(
    'cover nothing, and fit with their page, at any width: $title',
    async ({ name, title, ready }) => {
      const { page } = at.visitor
      await page.goto(`${at.server.admin}/console#/${name}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await page.getByText(ready).filter({ visible: true }).first().waitFor()
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        // The table is laid out again after the window has another width.
        await expect
          .poll(async () => [width, await page.evaluate(`[${FIND_COVERED}, ${IS_WIDER}]`)])
          .toEqual([width, [[], false]])
      }
      at.visitor.expectClean()
    },
  )

  it.each(['requests', 'audit'])('show the end of each id: %s', async (name) => {
    const { page } = at.visitor
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${at.server.admin}/console#/${name}`)
    const ids = page.locator('td code.clip')
    await ids.first().waitFor()
    expect(await page.evaluate(FIND_CUT)).toEqual([])
    at.visitor.expectClean()
  })

  it('find some of 150 keys, show 50 at a time, and export all that were found', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/keys`)
    const keys = page.getByRole('region', { name: 'Keys', exact: true })
    const pages = page.getByRole('navigation', { name: 'Pages of: Keys' })
    await pages.getByText(/^1–50 of 15\d$/).waitFor()
    expect(await keys.getByRole('row').count()).toBe(51)
    await pages.getByRole('button', { name: 'Next' }).click()
    await pages.getByText(/^51–100 of 15\d$/).waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    await page.getByLabel('Search the keys').fill('branch 14')
    await page.getByText(/^11 of 15\d keys$/).waitFor()
    expect(await keys.getByRole('row').count()).toBe(12)
    // It survives a reload, and can be shared.
    expect(page.url()).toMatch(/#\/keys\?search=branch\+14$/)
    await page.reload()
    await page.getByText(/^11 of 15\d keys$/).waitFor()
    expect(await page.getByLabel('Search the keys').inputValue()).toBe('branch 14')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV: Keys' }).click()
    const lines = readFileSync(await (await downloading).path(), 'utf8').split('\r\n')
    expect(lines[0]).toBe('Name,Id,Mode,State,Used in 30 days,Last used,Expires')
    expect(lines.filter((line) => line.startsWith('branch 14'))).toHaveLength(11)
    expect(lines.find((line) => line.startsWith('branch 140,'))).toMatch(
      /^branch 140,\w{8},test,active,0,never,never$/,
    )
    at.visitor.expectClean()
  })

  it.each(['0803 123 4567', '12345678901', 'Adaeze', 'tbt_live_0123'])(
    'keep out of the address what may be about a person, or a key: %s',
    async (text) => {
      const { page } = at.visitor
      await page.goto(`${at.server.admin}/console#/keys?search=branch+14`)
      const box = page.getByLabel('Search the keys')
      await expect.poll(() => box.inputValue()).toBe('branch 14')
      await box.fill(text)
      await page.getByText('None of the keys matches.').waitFor()
      expect(page.url()).toMatch(/#\/keys$/)
      expect(await box.inputValue()).toBe(text)
      at.visitor.expectClean()
    },
  )

  it('find one of 60 endpoints', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/webhooks`)
    await page.getByText('1–50 of 61').waitFor()
    await page.getByLabel('Search the endpoints').fill('hooks-37.')
    await page.getByText(/^1 of 61 endpoints$/).waitFor()
    await page.getByRole('row', { name: /receiver 37/ }).waitFor()
    at.visitor.expectClean()
  })

  it('guard a spreadsheet against formulas in an export', async () => {
    const { page } = at.visitor
    await page.evaluate(`fetch('/admin/keys', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: '=1+1', mode: 'test', scopes: ['kyc:nin'] }),
    }).then(() => {})`)
    await page.goto(`${at.server.admin}/console#/overview`)
    await page.goto(`${at.server.admin}/console#/keys`)
    await page.getByLabel('Search the keys').fill('=1+1')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV: Keys' }).click()
    expect(readFileSync(await (await downloading).path(), 'utf8')).toMatch(/\r\n'=1\+1,/)
    at.visitor.expectClean()
  })

  it('export values, without what only the page says about them', async () => {
    const { page } = at.visitor
    const save = (address: string, label: string) =>
      readExport(page, `${at.server.admin}/console#/${address}`, 'button', label)
    expect(await save('accounts', 'Accounts')).toMatch(/^Name,Role,.*\r\n(?:.*\r\n)*ada,owner,/)
    expect(await save('account', 'Your sessions')).toMatch(/^Browser,Address,.*\r\nChrome on \w+,127/)
    expect(await save('tokens', 'Tokens')).toMatch(/^Name,Id,Role,.*\r\n(?:.*\r\n)*grafana,\w+,viewer,/)
    expect(await save('requests', 'Errors by key')).toMatch(/^Key,Key id,Requests,.*\r\n[^,]*,\w{8},\d+,/)
    const overview = 'overview?mode=all'
    expect(await save(overview, 'Keys by verifications')).toMatch(/^Key,Key id,Mode,.*\r\n[^,]*,\w{8},\w+,/)
    expect(await save(overview, 'Last errors')).toMatch(
      /^Last,Outcome,Times,.*\r\n[^,]+,source unavailable,\d+,/,
    )
    expect(await save(overview, 'Sources')).toMatch(
      /^Source,State,Nodes in this state,Nodes,.*,Spent today,Cap of a day\r\n/,
    )
    at.visitor.expectClean()
  })

  it('export whole lists, not only the page that is shown', async () => {
    const { page } = at.visitor
    for (let count = 0; count < 60; count++)
      await verifyNin(at.server.api, SANDBOX_KEY, String(60_000_000_000 + count))
    const save = async (address: string, label: string) => {
      const text = await readExport(page, `${at.server.admin}/console#/${address}`, 'link', label)
      return text.trimEnd().split('\r\n')
    }
    await expect
      .poll(
        async () => (await save('requests?status=2xx&operation=verify_nin', 'Requests, newest first')).length,
      )
      .toBeGreaterThan(60)
    const lines = await save('requests?status=5xx', 'Requests, newest first')
    expect(lines[0]).toMatch(/^time,status,code,/)
    expect(lines.slice(1).every((line) => line.includes(',503,source_unavailable,'))).toBe(true)
    const batches = await save('batches', 'Latest batches')
    expect(batches[1]).toMatch(/^bat_[0-9a-z]{36},.*,completed,2,1,1,0,0,0,0,0$/)
    at.visitor.expectClean()
  })

  it.each([
    'Requests that were not answered',
    'Sources',
    'Keys by verifications',
    'Verifications by source',
    'Last errors',
  ])('are exported from the overview: %s', async (label) => {
    const { page } = at.visitor
    const text = await readExport(page, `${at.server.admin}/console#/overview?mode=all`, 'button', label)
    expect(text.split('\r\n').length).toBeGreaterThan(2)
    at.visitor.expectClean()
  })
})
