import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import {
  acceptInvitation,
  type ConsoleServer,
  go,
  signIn,
  startConsoleServer,
  verifyNin,
} from './console-server.ts'

/** The ways people go, one after another, in one browser. */
describe.skipIf(!CHROMIUM)('a person at the console', () => {
  let vendor: StandIn
  let server: ConsoleServer
  let browser: Browser
  let someone: Visit
  beforeAll(async () => {
    vendor = await openStandIn(dojah)
    server = await startConsoleServer({ TABBAT_NIN_SOURCES: 'registry,dojah', ...vendor.settings })
    browser = await launch()
    someone = await visit(browser)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await vendor?.close()
  })

  it('follows an invitation, whose token leaves the address bar, and comes back by signing in', async () => {
    const { page } = someone
    const link = await server.invite('owner')
    await page.goto(link)
    await page.getByRole('button', { name: 'Create account' }).waitFor()
    expect(page.url()).not.toContain(link.split('/').at(-1))
    await acceptInvitation(page, link, 'ada')
    await page.goto(`${server.admin}/console#/account`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tabbat' }).waitFor()
    await signIn(page, 'ada')
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    const cookies = (await page.context().cookies()).map((cookie) => [
      cookie.name,
      cookie.httpOnly,
      cookie.sameSite,
    ])
    expect(cookies.sort()).toEqual([
      ['tabbat_console', true, 'Strict'],
      ['tabbat_device', true, 'Strict'],
    ])
    someone.expectClean()
  })

  let reference = ''
  it('tries a verification, sees who it is, and finds it in the audit', async () => {
    const { page } = someone
    await go(page, 'Try it')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('VERIFIED', { exact: true }).first().waitFor()
    const found = /ver_[0-9a-z]{36}/.exec((await page.textContent('main')) ?? '')
    reference = found?.[0] ?? ''
    expect(reference).not.toBe('')
    await go(page, 'Audit')
    await page.getByRole('textbox', { name: 'Reference' }).fill(reference)
    await page.getByRole('button', { name: 'Search' }).click()
    const results = page.getByRole('table').first()
    await expect.poll(() => results.getByRole('row').count()).toBe(3)
    await results
      .getByRole('link', { name: reference.slice(0, 12) })
      .first()
      .click()
    await expect.poll(() => page.textContent('main')).toMatch(/Asked for.*Answered.*verified.*sandbox found/s)
    expect(page.url()).toContain(reference)
    someone.expectClean()
  })

  it('finds who was asked about by the number, which stays out of addresses', async () => {
    const { page } = someone
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await go(page, 'Audit')
    await page.getByRole('textbox', { name: 'Number of the person' }).fill('12345678901')
    await page.getByRole('button', { name: 'Search' }).click()
    await expect.poll(() => page.getByRole('table').first().getByRole('row').count()).toBeGreaterThan(2)
    expect(await page.textContent('main')).toContain(reference.slice(0, 12))
    expect([...asked, page.url()].filter((url) => url.includes('12345678901'))).toEqual([])
    someone.expectClean()
  })

  it('reads the whole log, and is told what was compared and what that cannot show', async () => {
    const { page } = someone
    await go(page, 'Audit')
    await page.getByRole('button', { name: /verify/i }).click()
    await expect
      .poll(() => page.textContent('main'), { timeout: 20_000 })
      .toMatch(/No difference was found.*Compared: .*Not compared: /s)
    expect(await page.textContent('main')).not.toMatch(/whole|nothing was/i)
    someone.expectClean()
  })

  it('sees an open invitation, and makes it void', async () => {
    const { page } = someone
    const link = await server.invite('viewer')
    await go(page, 'Accounts')
    await page.getByRole('button', { name: /^Void: new account/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Void' }).click()
    await page.getByText('No link is open.').waitFor()
    const token = link.split('#/invite/')[1]
    const looked = await fetch(`${server.admin}/admin/invitations/inspect`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    })
    expect(looked.status).toBe(410)
    someone.expectClean()
  })

  it('creates a key, which works, and revokes it, after which it does not', async () => {
    const { page } = someone
    await go(page, 'Keys')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('loans app')
    await dialog.getByRole('button', { name: 'Create key' }).click()
    const shown = page.getByRole('dialog', { name: 'The new key' })
    await shown.waitFor()
    const key = (await shown.locator('code').textContent()) ?? ''
    await shown.getByRole('button', { name: 'I have kept it' }).click()
    expect(await page.content()).not.toContain(key)
    expect((await verifyNin(server.api, key, '20000000001')).status).toBe(200)
    await page.reload()
    const row = page.getByRole('row', { name: /loans app/ })
    await expect.poll(() => row.textContent()).toMatch(/active1/)
    await row.getByRole('button', { name: 'Revoke loans app' }).click()
    const sure = page.getByRole('dialog')
    await sure.getByRole('textbox').fill(key.slice('tbt_test_'.length, 'tbt_test_'.length + 8))
    await sure.getByRole('button', { name: 'Revoke' }).click()
    await expect.poll(() => row.textContent()).toContain('revoked')
    await expect.poll(async () => (await verifyNin(server.api, key, '20000000001')).status).toBe(401)
    someone.expectClean()
  })

  it('imports a catalogue after seeing what would change, and rolls it back', async () => {
    const { page } = someone
    const lists = JSON.parse(await server.run('catalogue', 'export'))
    const bundle = lists.internet[0].bundles[0]
    bundle.price = String(Number(bundle.price) + 1)
    await go(page, 'Catalogue')
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Or paste it' }).fill(JSON.stringify(lists))
    await dialog.getByRole('button', { name: 'Show what would change' }).click()
    await dialog.getByText(bundle.code, { exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Put in force' }).click()
    await dialog.getByText('Version 2 is in force.').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('Version 2 is in force.').waitFor()
    await page.getByRole('button', { name: 'Roll back to version 1' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('Version 3 is in force.').waitFor()
    expect(JSON.parse(await server.run('catalogue', 'history', '--json')).versions.at(-1)).toMatchObject({
      id: 3,
      author: 'ada',
    })
    someone.expectClean()
  })

  it('switches a source off and on again, and asks it once', async () => {
    const { page } = someone
    await go(page, 'Sources')
    await page.getByRole('button', { name: 'Disable dojah' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable dojah' }).waitFor()
    expect(JSON.parse(await server.run('sources', 'status', '--json'))[0]).toMatchObject({ disabled: true })
    await page.getByRole('button', { name: 'Enable dojah' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('button', { name: 'Check now: dojah' }).click()
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /ask|check/i })
      .click()
    await page.getByText('everything works').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
    someone.expectClean()
  })

  it('sees before everything else which vendor fails', async () => {
    const { page } = someone
    const made = JSON.parse(await server.run('keys', 'create', '--name', 'till', '--mode', 'live', '--json'))
    await go(page, 'Overview')
    const attention = page.getByRole('region', { name: 'Sources that need attention' })
    await page.getByText('Updating live').waitFor()
    expect(await attention.count()).toBe(0)
    vendor.fail('failing')
    // As many as the breaker wants to see before it opens; the server may not know yet that the vendor is enabled again.
    const trouble = attention.getByText(/^dojah Verify NIN: failing, not asked/)
    let asked = 0
    const askOnce = async () => {
      await verifyNin(server.api, made.key, String(60_000_000_000 + asked++))
      return trouble.count()
    }
    await expect.poll(askOnce, { timeout: 30_000 }).toBe(1)
    vendor.fail(undefined)
    someone.expectClean()
  })

  it('leaves a row with the name for everything that was changed', async () => {
    const rows = (await server.run('audit', 'export'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const phasesOf = (name: string) =>
      rows.filter(({ detail }) => detail?.includes(`by ${name}`)).map(({ phase }) => phase)
    expect(new Set(phasesOf('ada'))).toEqual(
      new Set([
        'account_created',
        'signed_in',
        'signed_out',
        'intent',
        'outcome',
        'invitation_voided',
        'audit_searched',
        'audit_verified',
        'key_created',
        'key_revoked',
        'catalogue_changed',
        'source_disabled',
        'source_enabled',
        'source_checked',
      ]),
    )
    expect(JSON.stringify(rows)).not.toContain('12345678901')
  })
})
