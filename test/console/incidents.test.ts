import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerWith, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { CHROMIUM, COLOUR_RULES, findAxeViolations, launch, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'
import { startFilledServer } from './filled-server.ts'

describe.skipIf(!CHROMIUM)('the page Incidents', () => {
  let server: ConsoleServer
  let browser: Browser
  let slack: Receiver
  beforeAll(async () => {
    slack = await startReceiver()
    server = await startConsoleServer({ TABBAT_NOTICES_SLACK: slack.url })
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await slack?.close()
  })

  it('sends a test for an operator, and shows what became of it', async () => {
    const { page } = await visit(browser)
    await acceptInvitation(page, await server.invite('operator'), 'oba')
    await page.goto(`${server.admin}/console#/incidents`)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('The channel has taken the message.').waitFor()
    expect(slack.received).toHaveLength(1)
    expect(slack.received[0]?.body).toContain('Test of the notices')
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('Too many attempts.').waitFor()
    expect(slack.received).toHaveLength(1)
    expect(await findAxeViolations(page)).toEqual([])
  })

  it('has no button for a viewer', async () => {
    slack.answer = answerWith(200)
    const { page } = await visit(browser)
    await acceptInvitation(page, await server.invite('viewer'), 'vera')
    await page.goto(`${server.admin}/console#/incidents`)
    await page.getByText('There was no incident in the last 90 days.').waitFor()
    expect(await page.getByRole('button', { name: 'Send a test' }).count()).toBe(0)
  })
})

describe.skipIf(!CHROMIUM)('the page Incidents with incidents', () => {
  const at = setUpConsole({ start: startFilledServer })

  const screens = [390, 768, 1024, 1440].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
  )
  it.each(screens)('has no axe violations at $width px, $colorScheme', async ({ width, colorScheme }) => {
    const { page } = at.visitor
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    await page.goto(`${at.server.admin}/console#/incidents`)
    await page.getByText('disk: /data (node node-1)').waitFor()
    expect(await findAxeViolations(page, colorScheme === 'dark' ? COLOUR_RULES : undefined)).toEqual([])
    const [content, window] = (await page.evaluate(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )) as [number, number]
    expect(content).toBeLessThanOrEqual(window)
  })

  it('shows what was told, what could not be, and when it is quiet', async () => {
    const { page } = at.visitor
    await page.goto(`${at.server.admin}/console#/incidents`)
    await page.getByText('disk: /data (node node-1)').waitFor()
    // The channels are another request.
    await expect
      .poll(() => page.locator('main').innerText())
      .toContain('Quiet hours 22:00-06:00 (Africa/Lagos)')
    const text = await page.locator('main').innerText()
    expect(text).toMatch(/failing since .* The address is no longer in use/)
    expect(text).toMatch(/Slack, beginning: sent .*\s+Slack, end: failed/)
    expect(text).toContain('no message: no channel was configured')
  })
})
