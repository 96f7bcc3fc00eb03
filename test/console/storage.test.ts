import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { CHROMIUM, launch, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

describe.skipIf(!CHROMIUM)('the page Storage', () => {
  let server: ConsoleServer
  let browser: Browser
  beforeAll(async () => {
    server = await startConsoleServer({ TABBAT_AUDIT_KEEP: '2y', TABBAT_AUDIT_ARCHIVE_DIR: '/archive' })
    browser = await launch()
    const store = await openStore({ dataDir: server.dataDir, databaseUrl: undefined })
    const today = Math.floor(Date.now() / DAY_MS)
    // Grows by 2 MB a day.
    for (let days = 1; days <= 10; days++)
      await store.storage.record({ day: today - days, bytes: 100e6 - days * 2e6 }, 0)
    await store.close()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  it('shows the growth a day, when the disk is full, and how long data is kept', async () => {
    const { page } = await visit(browser)
    await acceptInvitation(page, await server.invite('viewer'), 'vera')
    await page.goto(`${server.admin}/console#/storage`)
    const main = page.locator('main')
    await main.getByText('Growth a day').waitFor()
    const text = await main.innerText()
    expect(text).toMatch(/Growth a day\s+2 MB/)
    expect(text).toMatch(/Disk full\s+(in [\d,]+ days, on .+, at this rate|Not at this rate)/)
    expect(text).toMatch(/TABBAT_AUDIT_KEEP\s+2y\s+Audit rows are archived, in whole months, after 2 years\./)
    expect(text).toContain('No backup was made with tabbat backup FILE.')
    await server.run('backup', `${server.dataDir}/night.backup`)
    await page.reload()
    await main.getByText('Last backup').waitFor()
    expect(await main.innerText()).toMatch(/Last backup\s+\d.*\s+Size\s+[\d.]+ [kM]B/)
    expect(await main.innerText()).toContain('No check was noted here.')
    await server.run('backup', 'check', `${server.dataDir}/night.backup`)
    await page.reload()
    await main.getByText('Last check').waitFor()
    expect(await main.innerText()).toMatch(/Last check\s+\d.*good\s+Checked backup\s+\d/)
    const guide = main.getByRole('link', { name: 'More about backups' })
    const answer = await fetch(`${server.admin}${await guide.getAttribute('href')}`)
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('tabbat backup check'),
    ])
    expect(text).toMatch(/This one looks next at \d+ \w+, \d\d:\d\d\./)
    expect(text).toMatch(
      /Next in the archive: the audit rows before 1 \w+ \d{4}, .*, by the first run after /,
    )
    expect(text).toContain('No audit row was archived.')
  })
})
