import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, findAxeViolations } from './browser.ts'
import { PASSWORD } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'
import { HOSTILE, PERSON, startFilledServer } from './filled-server.ts'

const REASON = 'Request of access, case 17'

describe.skipIf(!CHROMIUM)('the page People', () => {
  const at = setUpConsole({ start: startFilledServer })
  beforeAll(async () => {
    await at.visitor.page.goto(`${at.server.admin}/console#/people`)
  })

  const ask = async (number: string) => {
    const { page } = at.visitor
    await page.getByLabel('Number', { exact: true }).fill(number)
    await page.getByLabel('Reason').fill(REASON)
    await page.getByRole('button', { name: 'Make the report' }).click()
    await page.getByRole('heading', { name: 'Who asked' }).waitFor()
  }

  const confirm = async (button: string, verb: string) => {
    const { page } = at.visitor
    await page.getByRole('button', { name: button }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill(REASON)
    await dialog.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: verb, exact: true }).click()
    await dialog.waitFor({ state: 'hidden' })
  }

  it.each(['light', 'dark'] as const)(
    'makes a report without values, axe clean in the %s theme',
    async (scheme) => {
      const { page } = at.visitor
      await page.emulateMedia({ colorScheme: scheme })
      await ask(PERSON.nin)
      await page.getByText('NIN number, first name, last name', { exact: false }).first().waitFor()
      expect(await page.textContent('main')).not.toContain(PERSON.phone)
      expect(page.url()).not.toContain(PERSON.nin)
      expect(await findAxeViolations(page)).toEqual([])
      at.visitor.expectClean()
    },
  )

  it('shows the values after the password, as text and not as markup, and saves them', async () => {
    const { page } = at.visitor
    await confirm('Show values…', 'Show values')
    await page.getByText(HOSTILE).first().waitFor()
    for (const [button, sign] of [
      ['Save as JSON', '"values": "shown"'],
      ['Save as CSV', 'section,row,column,value'],
      ['Save as document', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    ] as const) {
      const downloading = page.waitForEvent('download')
      await page.getByRole('button', { name: button }).click()
      const file = await downloading
      expect(file.suggestedFilename()).not.toMatch(/\d/)
      const text = readFileSync(await file.path(), 'utf8')
      expect(text).toContain(sign)
      expect(text).toContain(PERSON.nin)
    }
    at.visitor.expectClean()
  })

  it('erases the person after the password, and says what remains', async () => {
    const { page } = at.visitor
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('button', { name: 'Erase this person…' }).click()
    expect(await findAxeViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await confirm('Erase this person…', 'Erase')
    await page.getByRole('heading', { name: 'What remains, and why' }).waitFor()
    expect(await page.textContent('main')).toContain('keyed hash')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await ask(PERSON.nin)
    await page.getByText(/There is no record of this number\./).waitFor()
    at.visitor.expectClean()
  })
})
