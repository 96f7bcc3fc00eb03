import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

describe.skipIf(!CHROMIUM)('the page Batches', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-batches-page-'))
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  beforeAll(async () => {
    server = await startConsoleServer({ TABBAT_BATCH_RATE: '60000' })
    browser = await launch()
    visitor = await visit(browser)
    await acceptInvitation(visitor.page, await server.invite('operator'), 'ada')
    await visitor.page.goto(`${server.admin}/console#/batches`)
    await visitor.page.getByText('There are no batches.').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  const sendFile = async (name: string, content: string) => {
    const file = join(folder, name)
    writeFileSync(file, content)
    await visitor.page.getByLabel('File').setInputFiles(file)
    await visitor.page.getByRole('button', { name: 'Send' }).click()
  }

  it('sends a file, shows its progress and its refused rows', async () => {
    const { page } = visitor
    await sendFile(
      'one.csv',
      'operation,nin,phone,reference\nverify_nin,12345678901,08031234567,=1\nverify_nin,1,08031234567,x\n',
    )
    await page.getByText('Line 3: nin must be 11 digits').waitFor()
    await page.getByText('completed').waitFor()
    await page.getByText('2 of 2').waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    visitor.expectClean()
  })

  it('downloads the results with the key that sent the batch', async () => {
    const { page } = visitor
    await page.getByRole('button', { name: 'Results' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    const downloading = page.waitForEvent('download')
    await dialog.getByRole('button', { name: 'Download CSV' }).click()
    const path = await (await downloading).path()
    const text = readFileSync(path, 'utf8')
    expect(text).toContain('VERIFIED')
    expect(text).toContain("'=1")
    visitor.expectClean()
  })

  it('says why a file is refused', async () => {
    await sendFile('two.csv', '12345678901,08031234567\n')
    await visitor.page.getByText('header must be the first line').waitFor()
    expect(await visitor.page.textContent('main')).not.toContain('12345678901')
    visitor.expectClean()
  })

  it('cancels a batch', async () => {
    const { page } = visitor
    await sendFile('three.csv', `operation,nin,phone\n${'verify_nin,00000000503,08031234567\n'.repeat(40)}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel the batch' }).click()
    await page.getByText('cancelled').waitFor({ timeout: 20_000 })
    visitor.expectClean()
  })
})
