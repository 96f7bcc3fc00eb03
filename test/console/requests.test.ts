import { beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CHROMIUM, findAxeViolations } from './browser.ts'
import { verifyNin } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

describe.skipIf(!CHROMIUM)('the page Requests', () => {
  const at = setUpConsole({ role: 'viewer', name: 'vera' })
  beforeAll(async () => {
    await verifyNin(at.server.api, SANDBOX_KEY, '12345678901')
    await verifyNin(at.server.api, SANDBOX_KEY, '00000000503')
    await verifyNin(at.server.api, SANDBOX_KEY, '00000000422')
    await verifyNin(at.server.api, SANDBOX_KEY, 'no number')
  })

  it('adds new requests while it is live', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/requests`)
    await page.getByLabel('Live', { exact: true }).check()
    await page.getByText('New requests are added').waitFor()
    expect(page.url()).toContain('live=on')
    await verifyNin(at.server.api, SANDBOX_KEY, '00000000504')
    await page.getByText('504 source timeout').waitFor()
    await page.getByLabel('Live', { exact: true }).uncheck()
    at.visitor.expectClean()
  })

  it('keeps its filters in the address, which shows the same to another at.visitor', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/requests`)
    await page.getByLabel('Status').selectOption('5xx')
    await page.locator('#main').getByRole('button', { name: 'Search', exact: true }).click()
    const rows = page.getByRole('table').last().getByRole('row')
    await page.getByText('503 source unavailable').waitFor()
    expect(page.url()).toContain('status=5xx')
    await expect.poll(() => rows.filter({ hasText: 'verified' }).count()).toBe(0)
    const shared = page.url()
    await page.goto('about:blank')
    await page.goto(shared)
    await page.getByText('503 source unavailable').waitFor()
    expect(await page.getByLabel('Status').inputValue()).toBe('5xx')
    expect(await findAxeViolations(page)).toEqual([])
    at.visitor.expectClean()
  })

  it('counts refused requests as those that are listed behind the number', async () => {
    const { page } = at.visitor
    const number = page.getByRole('link', { name: /^1 requests of .*: Refused \(4xx\)$/ })
    await expect
      .poll(async () => {
        await page.goto('about:blank')
        await page.goto(`${at.server.admin}/console#/requests?range=hour`)
        await page.getByRole('heading', { name: 'Errors by key' }).waitFor()
        return number.count()
      })
      .toBe(1)
    await number.click()
    const rows = page.getByRole('region', { name: 'Requests, newest first' }).getByRole('row')
    await expect.poll(() => rows.count()).toBe(2)
    // The rows before the click may be as many.
    await expect.poll(() => rows.nth(1).textContent()).toContain('422 validation failed')
    expect(await page.getByLabel('Status').inputValue()).toBe('refused')
    expect(await page.getByLabel('From').inputValue()).not.toBe('')
    at.visitor.expectClean()
  })

  it('does not show the requests of one filter under another that cannot be loaded', async () => {
    const { page } = at.visitor
    await page.goto('about:blank')
    await page.goto(`${at.server.admin}/console#/requests`)
    await page.getByText('503 source unavailable').waitFor()
    at.visitor.allow(/status of 503/)
    const body = JSON.stringify({ code: 'audit_unavailable', message: 'Not now.' })
    await page.route(/\/admin\/requests\?.*status=4xx/, (route) =>
      route.fulfill({ status: 503, contentType: 'application/json', body }),
    )
    await page.getByLabel('Status').selectOption('4xx')
    await page.locator('#main').getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByRole('alert').getByText('The database cannot be used now.').waitFor()
    expect(await page.getByText('503 source unavailable').count()).toBe(0)
    await page.unrouteAll({ behavior: 'wait' })
    at.visitor.expectClean()
  })

  it('takes the name of a key, and says when no key has it', async () => {
    const { page } = at.visitor
    await page.goto('about:blank')
    await page.goto(`${at.server.admin}/console#/requests`)
    const search = async (key: string) => {
      await page.getByRole('combobox', { name: 'Key' }).fill(key)
      await page.locator('#main').getByRole('button', { name: 'Search', exact: true }).click()
    }
    await search('public sandbox key')
    await page.getByText('503 source unavailable').waitFor()
    expect(page.url()).toContain('key=public+sandbox+key')
    at.visitor.expectClean()
    at.visitor.allow(/422/)
    await search('public sandbox ke')
    await page
      .getByText(/key must be the name or the id of a key/i)
      .first()
      .waitFor()
  })

  it('shows a request with its timeline, and as a command without the key', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/requests?status=5xx`)
    const row = page.getByRole('row', { name: /503 source unavailable/ })
    await row.getByRole('link', { name: /^Details of req_/ }).click()
    await page.getByText('Authorization: Bearer').waitFor()
    const text = (await page.locator('main').textContent()) ?? ''
    expect(text).toContain('Authorization: Bearer $TABBAT_KEY')
    expect(text).not.toContain(SANDBOX_KEY)
    expect(await findAxeViolations(page)).toEqual([])
    const requestId = /req_[0-9a-f]{32}/.exec(text)?.[0] ?? ''
    await page.getByRole('link', { name: 'Timeline of the verification' }).click()
    await page.getByRole('link', { name: requestId }).click()
    await page.getByText('503 source unavailable').waitFor()
    expect(page.url()).toContain(`#/requests/${requestId}`)
    at.visitor.expectClean()
  })

  it("finds a caller's own id, which does not come into the address", async () => {
    const own = 'customer-7-of-May'
    await fetch(`${at.server.api}/api/v2/sme-data/list`, {
      headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'x-request-id': own },
    })
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/requests?live=on`)
    await page.getByRole('cell', { name: 'SME bundles' }).waitFor()
    await page.getByLabel('Request id or reference').fill(own)
    await page.locator('#main').getByRole('button', { name: 'Search', exact: true }).click()
    await page.waitForURL(/request_id=own_/)
    await page.getByRole('link', { name: /^Details of own_/ }).waitFor()
    expect(page.url()).not.toContain(own)
    at.visitor.expectClean()
  })
})
