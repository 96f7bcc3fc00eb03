import { describe, expect, it } from 'vitest'
import { CHROMIUM, findAxeViolations } from './browser.ts'
import { PASSWORD } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

describe.skipIf(!CHROMIUM)('the page Tokens', () => {
  const at = setUpConsole()

  it('creates a token with the password, shows it once, and revokes it', async () => {
    const { page } = at.visitor
    at.visitor.allow(/status of 401/)
    await page.goto(`${at.server.admin}/console#/tokens`)
    await page.getByText('There are no tokens yet').waitFor()
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('grafana')
    await dialog.getByLabel('Allowed IP addresses').fill('127.0.0.1, ::1')
    await dialog.getByRole('textbox', { name: 'Your password' }).fill('not the password')
    expect(await findAxeViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await dialog.getByText('The password is wrong.').waitFor()
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Create token' }).click()
    await page.getByText('Copy the token now').waitFor()
    const token = /tbt_admin_[0-9A-Za-z]{46}/.exec((await dialog.textContent()) ?? '')?.[0] ?? ''
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('row', { name: /grafana.*viewer.*active.*never/ }).waitFor()
    expect(await page.content()).not.toContain(token.slice(18))
    const ask = async () =>
      (await fetch(`${at.server.admin}/admin/keys`, { headers: { authorization: `Bearer ${token}` } })).status
    expect(await ask()).toBe(200)
    expect(await findAxeViolations(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 800 })
    await page.getByRole('button', { name: 'Revoke grafana' }).click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: /grafana.*revoked/ }).waitFor()
    expect(await ask()).toBe(401)
    at.visitor.expectClean()
  })
})
