import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, findAxeViolations } from './browser.ts'
import { startConsoleServer } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

describe.skipIf(!CHROMIUM)('the page Batches', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-batches-page-'))
  const at = setUpConsole({
    start: () => startConsoleServer({ TABBAT_BATCH_RATE: '60000' }),
    role: 'operator',
  })
  beforeAll(async () => {
    await at.visitor.page.goto(`${at.server.admin}/console#/batches`)
    await at.visitor.page.getByText('There are no batches.').waitFor()
  })

  const sendFile = async (name: string, content: string) => {
    const file = join(folder, name)
    writeFileSync(file, content)
    await at.visitor.page.getByLabel('File').setInputFiles(file)
    await at.visitor.page.getByRole('button', { name: 'Send' }).click()
  }

  it('sends a file, shows its progress and its refused rows', async () => {
    const { page } = at.visitor
    await sendFile(
      'one.csv',
      'operation,nin,phone,reference\nverify_nin,12345678901,08031234567,=1\nverify_nin,1,08031234567,x\n',
    )
    await page.getByText('Line 3: nin must be 11 digits').waitFor()
    await page.getByText('completed').waitFor()
    await page.getByText('2 of 2').waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    at.visitor.expectClean()
  })

  it('downloads the results with the key that sent the batch', async () => {
    const { page } = at.visitor
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
    at.visitor.expectClean()
  })

  it('says why a file is refused', async () => {
    await sendFile('two.csv', '12345678901,08031234567\n')
    await at.visitor.page.getByText('header must be the first line').waitFor()
    expect(await at.visitor.page.textContent('main')).not.toContain('12345678901')
    at.visitor.expectClean()
  })

  it('cancels a batch', async () => {
    const { page } = at.visitor
    await sendFile('three.csv', `operation,nin,phone\n${'verify_nin,00000000503,08031234567\n'.repeat(40)}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel the batch' }).click()
    await page.getByText('cancelled').waitFor()
    at.visitor.expectClean()
  })
})
