import { readFileSync, writeFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Received, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

describe.skipIf(!CHROMIUM)('the page Webhooks', () => {
  let server: ConsoleServer
  let receiver: Receiver
  let browser: Browser
  let visitor: Visit
  beforeAll(async () => {
    server = await startConsoleServer({ TABBAT_WEBHOOKS_PRIVATE: 'on' })
    receiver = await startReceiver()
    browser = await launch()
    visitor = await visit(browser)
    await acceptInvitation(visitor.page, await server.invite('owner'), 'ada')
    await server.run('keys', 'create', '--name', 'loans app', '--mode', 'live')
  })
  afterAll(async () => {
    await browser?.close()
    await receiver?.close()
    await server?.stop()
  })

  it('creates an endpoint, shows its secret once, and sends a signed test event', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/webhooks`)
    await page.getByText('There are no endpoints yet').waitFor()
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('alarm')
    await dialog.getByLabel('Address').fill(receiver.url)
    await dialog.getByLabel('source.down').check()
    expect(await findAxeViolations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Create endpoint' }).click()
    await page.getByText('Copy the secret now').waitFor()
    const secret = /whsec_[A-Za-z0-9+/]{43}=/.exec((await dialog.textContent()) ?? '')?.[0] ?? ''
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await page.getByRole('row', { name: /alarm/ }).waitFor()
    expect(await page.content()).not.toContain(secret.slice(6, 30))
    await page.getByRole('button', { name: 'Test alarm' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await page.getByText('The receiver accepted the test event.').waitFor()
    const { body, headers } = receiver.received[0] as Received
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
      type: 'webhook.test',
    })
    await page.keyboard.press('Escape')
    visitor.expectClean()
  })

  it('offers the events of keys to an endpoint that belongs to keys', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/webhooks`)
    await page.getByRole('button', { name: 'Create endpoint' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: 'API keys' }).check()
    await dialog.getByRole('combobox', { name: 'Key' }).fill('loans')
    await dialog.getByRole('button', { name: 'Add the key' }).click()
    await dialog.getByText('No active key has this name or id.').waitFor()
    await dialog.getByRole('combobox', { name: 'Key' }).fill('loans app')
    await dialog.getByRole('button', { name: 'Add the key' }).click()
    await dialog.getByRole('button', { name: /^Remove the key / }).waitFor()
    expect(await dialog.getByLabel('source.down').count()).toBe(0)
    await expect.poll(() => dialog.getByLabel('verification.completed').count()).toBe(1)
    expect(await dialog.getByRole('button', { name: 'Create endpoint' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    visitor.expectClean()
  })

  it('disables, enables and deletes an endpoint', async () => {
    const { page } = visitor
    await page.goto(`${server.admin}/console#/webhooks`)
    const row = page.getByRole('row', { name: /alarm/ })
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Disable alarm' }).click()
    await dialog.getByRole('button', { name: 'Disable', exact: true }).click()
    await row.getByText('disabled', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Enable alarm' }).click()
    await dialog.getByRole('button', { name: 'Enable', exact: true }).click()
    await row.getByText('active', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete alarm' }).click()
    const id = /whk_[0-9a-f]+/.exec((await dialog.textContent()) ?? '')?.[0] ?? ''
    await dialog.getByRole('textbox').fill(id)
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('There are no endpoints yet').waitFor()
    visitor.expectClean()
  })

  it('shows the deliveries, which fit at 390 px, and sends one again', async () => {
    const { page } = visitor
    const file = `${server.dataDir}/swift.json`
    const args = ['--name', 'lists', '--url', receiver.url, '--event', 'catalogue.changed']
    await server.run('webhooks', 'create', ...args)
    await server.run('catalogue', 'export', `${server.dataDir}/lists.json`)
    const before = receiver.received.length
    const { internet } = JSON.parse(readFileSync(`${server.dataDir}/lists.json`, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...internet[1], segment: 'swift', type: 'SWIFT' }))
    await server.run('catalogue', 'import', file)
    await receiver.wait(before + 1)
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${server.admin}/console#/overview`)
    await page.goto(`${server.admin}/console#/webhooks`)
    await page.getByRole('link', { name: 'lists', exact: true }).click()
    await page.getByRole('cell', { name: /delivered$/ }).waitFor()
    await page.getByRole('img', { name: 'Attempts to lists: 1 delivered, 0 failed' }).waitFor()
    expect(await findAxeViolations(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await page.getByText('catalogue.changed', { exact: true }).last().click()
    await page.getByText('"type": "catalogue.changed"').waitFor()
    await page.getByRole('button', { name: /^Resend catalogue.changed/ }).click()
    await receiver.wait(before + 2)
    visitor.expectClean()
  })
})
