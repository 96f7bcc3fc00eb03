import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { CHROMIUM, findAxeViolations, launch, visit } from './browser.ts'

describe.skipIf(!CHROMIUM)('the reference in a browser', () => {
  let server: TestApp
  let url: string
  let browser: Browser
  beforeAll(async () => {
    server = await openTestApp()
    url = await server.app.listen({ host: '127.0.0.1', port: 0 })
    browser = await launch()
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  it('copies a command with its button, and breaks no rule of its policy', async () => {
    const { page, expectClean, close } = await visit(browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    await page.goto(`${url}/docs`)
    const figure = page.locator('#first-call figure').nth(1)
    await figure.getByRole('button', { name: 'Copy' }).click()
    await figure.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate('navigator.clipboard.readText()')
    expect(copied).toContain(`curl -s '${url}/api/v2/kyc/verify-nin'`)
    expect(copied).toContain(SANDBOX_KEY)
    expect(copied).not.toContain('Copy')
    expect(await findAxeViolations(page)).toEqual([])
    expectClean()
    await close()
  })

  it('copies without the clipboard of secure pages', async () => {
    const { page, close } = await visit(browser)
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.goto(`${url}/docs`)
    const figure = page.locator('#first-call figure').first()
    await figure.getByRole('button', { name: 'Copy' }).click()
    await figure.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate('String(getSelection())')).toBe(SANDBOX_KEY)
    await close()
  })
})
