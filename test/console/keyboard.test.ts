import { describe, expect, it } from 'vitest'
import { CHROMIUM } from './browser.ts'
import { setUpConsole } from './console-set-up.ts'
import { PAGES, startFilledServer } from './filled-server.ts'

type PageName = (typeof PAGES)[number]['name']

/** The buttons that open a dialog. Every other button of a page must match OTHER_BUTTONS. */
const DIALOG_BUTTONS: Readonly<Partial<Record<PageName, readonly string[]>>> = {
  batches: ['Results'],
  keys: ['Create key', 'Change loans app', 'Roll loans app', 'Revoke loans app'],
  webhooks: ['Create endpoint', 'Test alarm', 'Resend alarm', 'Roll alarm', 'Disable alarm', 'Delete alarm'],
  catalogue: ['Import'],
  sources: ['Change order for NIN', 'Disable dojah'],
  accounts: ['Create invitation', 'Change role: ada', 'Reset password: ada', 'Sessions: ada', 'Remove: ada'],
  tokens: ['Create token', 'Revoke grafana'],
  account: ['Set up an authenticator app'],
}
const OTHER_BUTTONS =
  /^((Show|Copy) .*|Export CSV: .*|Previous|Next|Sign out|Verify the log|Today|This month|Last month|Check now: .*|Clear|Send|Send a test|Search|Compare with this file|Look up|Unlock|Make the report|Change password|(Change|Roll|Revoke)? ?integration tests|Verify (NIN|BVN)|.* bundles|TV add-ons|Void: .*)$/

const READ_FOCUS =
  "(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent).trim()"
const READ_BUTTONS = `[...document.querySelectorAll('main button:not([role=tab], .chip)')]
  .filter((button) => button.checkVisibility())
  .map((button) => (button.getAttribute('aria-label') || button.textContent).trim())`

describe.skipIf(!CHROMIUM)('with the keyboard', () => {
  const at = setUpConsole({ start: () => startFilledServer({ isHostile: false }) })

  const open = async ({ name, title, ready }: (typeof PAGES)[number]) => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/${name}`)
    await page.getByRole('heading', { name: title, level: 1 }).waitFor()
    await page.getByText(ready).first().waitFor()
    return page
  }

  it.each(PAGES)('`/` and `?` open and Escape closes, on the page $title', async (shown) => {
    const page = await open(shown)
    const heading = page.getByRole('heading', { name: shown.title, level: 1 })
    await heading.focus()
    for (const [key, dialog] of [
      ['/', 'Search'],
      ['?', 'Shortcuts'],
    ] as const) {
      await page.keyboard.press(key)
      await page.getByRole('dialog', { name: dialog }).waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await page.evaluate(READ_FOCUS)).toBe(await heading.textContent())
    }
    at.visitor.expectClean()
  })

  it.each(PAGES)('every dialog of the page $title closes and returns the focus', async (shown) => {
    const page = await open(shown)
    const names = DIALOG_BUTTONS[shown.name] ?? []
    for (const name of names) {
      await page.locator('main').getByRole('button', { name, exact: true }).focus()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await page.evaluate(READ_FOCUS)).toBe(name)
    }
    const found = (await page.evaluate(READ_BUTTONS)) as string[]
    expect(found.filter((name) => !names.includes(name) && !OTHER_BUTTONS.test(name))).toEqual([])
    at.visitor.expectClean()
  })
})
