import { beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CHROMIUM } from './browser.ts'
import { startConsoleServer } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

describe.skipIf(!CHROMIUM)('a page that nobody uses', () => {
  const at = setUpConsole({ start: () => startConsoleServer({ TABBAT_BATCH_RATE: '1' }) })
  /** Requests of the page: their paths, and whether they are marked. */
  const seen: { readonly path: string; readonly isUnattended: boolean }[] = []
  let batch: string
  beforeAll(async () => {
    const { page } = at.visitor
    const rows = 'verify_nin,12345678901,08031234567\n'.repeat(100)
    const sent = await fetch(`${at.server.api}/api/v2/kyc/batches`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'text/csv' },
      body: `operation,nin,phone\n${rows}`,
    })
    const body = (await sent.json()) as { data: { id: string } }
    batch = body.data.id
    await page.clock.install()
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      // The server never counts these two.
      if (!pathname.startsWith('/admin/') || pathname.endsWith('/events') || pathname === '/admin/session')
        return
      seen.push({ path: pathname, isUnattended: request.headers()['tabbat-unattended'] !== undefined })
    })
  })

  /** Opens a page, and waits until it has asked for this path several times by itself. */
  const leaveAlone = async (name: string, path: string) => {
    const { page } = at.visitor
    await page.goto('about:blank')
    const opening = page.waitForResponse((response) => new URL(response.url()).pathname === path)
    await page.goto(`${at.server.admin}/console#/${name}`)
    await opening
    await page.getByRole('heading', { level: 1 }).waitFor()
    seen.length = 0
    await expect
      .poll(async () => {
        await page.clock.runFor(31_000)
        return seen.filter((request) => request.path === path).length
      })
      .toBeGreaterThan(3)
  }
  const listAttended = () => seen.filter(({ isUnattended }) => !isUnattended).map(({ path }) => path)

  it.each([
    ['overview?chart=keys', '/admin/charts'],
    ['keys', '/admin/health'],
    ['settings', '/admin/nodes'],
    ['requests?live=on', '/admin/requests/rates'],
    ['batches', '/admin/batches'],
    ['batches/:id', '/admin/batches/:id'],
  ])('does not extend the session: %s', async (name, path) => {
    await leaveAlone(name.replace(':id', batch), path.replace(':id', batch))
    expect(listAttended()).toEqual([])
    at.visitor.expectClean()
  })

  it('does not extend the session while the log is verified, and while a list is refused', async () => {
    const { page } = at.visitor
    at.visitor.allow(/status of 503/)
    await page.route('**/admin/audit/check', async (route) => {
      const check = await (await route.fetch()).json()
      await route.fulfill({ json: { ...check, state: 'running', total: 10 } })
    })
    await page.route('**/admin/accounts', (route) =>
      route.fulfill({ status: 503, json: { code: 'audit_unavailable', message: 'Not now.' } }),
    )
    await leaveAlone('audit', '/admin/audit/check')
    expect(listAttended()).toEqual([])
    await leaveAlone('accounts', '/admin/accounts')
    expect(listAttended()).toEqual([])
    await page.unrouteAll({ behavior: 'wait' })
    at.visitor.expectClean()
  })

  it('extends it again once somebody does something', async () => {
    const { page } = at.visitor
    await leaveAlone('settings', '/admin/nodes')
    expect(listAttended()).toEqual([])
    await page.keyboard.press('Tab')
    await expect
      .poll(async () => {
        await page.clock.runFor(31_000)
        return listAttended().length
      })
      .toBeGreaterThan(0)
    await leaveAlone('settings', '/admin/nodes')
    expect(listAttended()).toEqual([])
    at.visitor.expectClean()
  })
})
