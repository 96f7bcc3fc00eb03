import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { CHROMIUM, findAxeViolations } from './browser.ts'
import { type ConsoleServer, startConsoleServer } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

/** Enough on a busy machine. */
const WIDTHS = [390, 768, 1024, 1440]
const MAX_CLICKS = 3
const PHONE = '08031234567'

const run = promisify(execFile)

const LANGUAGES = [
  { language: 'curl', file: 'try.sh', program: 'sh' },
  { language: 'TypeScript', file: 'try.mjs', program: process.execPath },
  { language: 'PHP', file: 'try.php', program: 'php' },
  { language: 'Python', file: 'try.py', program: 'python3' },
]

let vendor: StandIn

async function startServer(): Promise<ConsoleServer> {
  vendor = await openStandIn(dojah)
  const server = await startConsoleServer({
    TABBAT_NIN_SOURCES: 'dojah',
    TABBAT_WEBHOOKS_PRIVATE: 'on',
    ...vendor.settings,
  })
  const stop = async () => {
    await server.stop()
    await vendor.close()
  }
  return { ...server, stop }
}

describe.skipIf(!CHROMIUM)('support', () => {
  const at = setUpConsole({ start: startServer })

  describe('does a task in at most three clicks:', () => {
    let clicks = 0
    beforeAll(async () => {
      const { page } = at.visitor
      await page.exposeFunction('countClick', () => {
        clicks += 1
      })
      await page.addInitScript('document.addEventListener("click", () => countClick(), true)')
    })

    const createKey = async (...args: string[]) =>
      JSON.parse(await at.server.run('keys', 'create', '--mode', 'live', '--json', ...args)) as {
        id: string
        key: string
      }
    const verify = (key: string, input: object, headers: Record<string, string> = {}) =>
      fetch(`${at.server.api}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(input),
      })
    /** From the overview, which is open at night. */
    const begin = async (filters = '') => {
      const { page } = at.visitor
      await page.goto('about:blank')
      await page.goto(`${at.server.admin}/console#/overview${filters}`)
      await page.getByText('Updating live').waitFor()
      clicks = 0
      return page
    }
    /** The answer is there, at every width, and no more clicks were needed. */
    const expectDone = async (page: Page) => {
      expect(clicks).toBeLessThanOrEqual(MAX_CLICKS)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        expect([width, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([
          width,
          true,
        ])
        // Between them are the same layouts.
        if (width === WIDTHS[0] || width === WIDTHS.at(-1))
          expect([width, await findAxeViolations(page)]).toEqual([width, []])
      }
      await page.setViewportSize({ width: 1280, height: 900 })
      at.visitor.expectClean()
    }
    const find = async (page: Page, text: string) => {
      await page.getByRole('button', { name: 'Search', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('searchbox').fill(text)
      await dialog.getByRole('link').first().click()
    }

    it('why was this caller refused? By the X-Request-Id', async () => {
      const { key } = await createKey('--name', 'kiosk')
      const response = await verify(key, { nin: '3', phone: PHONE })
      const id = response.headers.get('x-request-id') ?? ''
      expect(response.status).toBe(422)
      await expect.poll(async () => (await at.server.run('requests', 'list')).includes(id)).toBe(true)
      const page = await begin()
      await find(page, id)
      await page.getByText('422 validation failed').waitFor()
      const text = await page.locator('main').textContent()
      const { message } = (await response.json()) as { message: string }
      expect(text).toContain(`The caller was told${message}`)
      expect(text).toContain('Wrong fieldsnin')
      await page.getByRole('link', { name: /kiosk/ }).waitFor()
      await expectDone(page)
    })

    it('why was this caller refused? By the reference of a 429, which the audit log does not have', async () => {
      const { key } = await createKey('--name', 'guesser')
      const nin = '70000000001'
      const guess = async (count: number) =>
        (await (await verify(key, { nin, phone: `0803000000${count}` })).json()) as {
          code: string
          data: { request_reference: string }
        }
      let body = await guess(0)
      for (let count = 1; count < 9 && body.code !== 'too_many_attempts'; count++) body = await guess(count)
      expect(body.code).toBe('too_many_attempts')
      const reference = body.data.request_reference
      await expect
        .poll(async () => (await at.server.run('requests', 'list')).includes('too_many_attempts'))
        .toBe(true)
      const page = await begin()
      at.visitor.allow(/status of 404/)
      await find(page, reference)
      await page.getByText('refused before anybody was looked up').waitFor()
      await page.getByText('429 too many attempts').waitFor()
      await expectDone(page)
      // The command line says the same.
      await expect(at.server.run('audit', 'show', reference)).rejects.toThrow(
        /got 429 too_many_attempts before anybody was looked up/,
      )
      // A search by that outcome says where such requests are.
      await page.goto(`${at.server.admin}/console#/audit?outcome=too_many_attempts`)
      await page
        .getByText('A direct request that was refused')
        .getByRole('link', { name: 'Requests' })
        .click()
      await page.getByText('429 too many attempts').first().waitFor()
    })

    it('which key is out of quota?', async () => {
      const { id, key } = await createKey('--name', 'branch 7', '--subjects-per-day', '2')
      for (const nin of ['71000000001', '71000000002', '71000000003'])
        await verify(key, { nin, phone: PHONE })
      await expect
        .poll(async () => (await at.server.run('requests', 'list')).includes('quota_exceeded'))
        .toBe(true)
      const page = await begin('?range=hour')
      await page.getByRole('link', { name: 'quota exceeded' }).click()
      const found = page.getByRole('region', { name: 'Requests, newest first' })
      await found.getByRole('link', { name: id }).first().click()
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('link', { name: 'quota exceeded' }).waitFor()
      await expectDone(page)
      await page.getByRole('link', { name: 'quota exceeded' }).click()
      await page.getByText('429 quota exceeded').waitFor()
      expect(page.url()).toContain(`key=${id}&code=quota_exceeded&status=429`)
    })

    it('which vendor is slow, and since when?', async () => {
      const { key } = await createKey('--name', 'night')
      vendor.fail('slow_headers')
      await verify(key, { nin: '72000000001', phone: PHONE })
      vendor.fail(undefined)
      const page = await begin('?range=hour')
      await page.getByRole('radio', { name: 'Vendors' }).click()
      await page.getByRole('radio', { name: 'Latency p95' }).click()
      await page.getByText('Show as table').click()
      const row = page
        .getByRole('region', { name: 'Latency p95' })
        .getByRole('row')
        .filter({ hasText: /\d s$/ })
      await expect.poll(() => row.first().textContent()).toMatch(/^\d.*\d\d:\d\d.* s$/)
      await page.getByRole('link', { name: 'dojah' }).first().waitFor()
      await expectDone(page)
    })

    it('resend what failed since 14:00', async () => {
      const args = ['--name', 'shop', '--url', 'http://127.0.0.1:9/', '--event', 'verification.completed']
      const { id } = JSON.parse(await at.server.run('webhooks', 'create', ...args, '--json')) as {
        id: string
      }
      const { key } = await createKey('--name', 'told')
      await verify(key, { nin: '73000000001', phone: PHONE }, { prefer: 'respond-async' })
      const read = async () =>
        JSON.parse(await at.server.run('webhooks', 'deliveries', id, '--json')) as { state: string }[]
      await expect.poll(async () => (await read())[0]?.state).toBe('pending')
      // As after its last retry.
      const database = new DatabaseSync(join(at.server.dataDir, 'tabbat.db'), { timeout: 5000 })
      database
        .prepare("UPDATE webhook_deliveries SET state = 'failed', finished_at = ? WHERE endpoint_id = ?")
        .run(Date.now(), id)
      database.close()
      const page = await begin()
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Webhooks' }).click()
      await page.getByRole('button', { name: 'Resend shop' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Failed since').fill('2026-01-01T14:00')
      await dialog.getByRole('button', { name: 'Send again' }).click()
      await dialog.getByText('1 event is sent again.').waitFor()
      await expectDone(page)
      expect((await read())[0]?.state).toBe('pending')
      await at.server.run('webhooks', 'delete', id, '--yes')
    })

    it('send a request again, with all that is known of it', async () => {
      const headers = { 'x-purpose': 'loan', 'x-consent-reference': 'consent-4711', prefer: 'respond-async' }
      const response = await verify(SANDBOX_KEY, { nin: '12345678901', phone: PHONE }, headers)
      expect(response.status).toBe(202)
      const id = response.headers.get('x-request-id') ?? ''
      await expect.poll(async () => (await at.server.run('requests', 'list')).includes(id)).toBe(true)
      const page = await begin()
      await page.goto(`${at.server.admin}/console#/requests/${id}`)
      await page.getByRole('link', { name: 'Send again in Try it' }).click()
      await page.getByText('Type again').waitFor()
      expect(page.url()).toMatch(new RegExp(`#/try\\?request=${id}$`))
      const note = await page.getByText('Type again').textContent()
      expect(note).toContain('Type again: nin, phone; if they were sent, also first_name, last_name')
      expect(await page.getByLabel('X-Purpose (optional)').inputValue()).toBe('loan')
      expect(await page.getByLabel('X-Consent-Reference (optional)').inputValue()).toBe('consent-4711')
      expect(await page.getByLabel('Prefer (optional)').inputValue()).toBe('respond-async')
      expect(await page.getByLabel('nin', { exact: true }).inputValue()).toBe('')
      await page.getByLabel('Prefer (optional)').selectOption('')
      await page.getByLabel('Idempotency-Key (optional)').fill('again-1')
      await page.getByLabel('nin', { exact: true }).fill('12345678901')
      await page.getByLabel('phone', { exact: true }).fill(PHONE)
      await page.getByLabel('first_name (optional)').fill('Nobody')
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByText('VERIFIED', { exact: true }).first().waitFor()
      await page.getByText('first_name=no').waitFor()
      await expectDone(page)
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.getByText('Idempotent-Replayed', { exact: true }).waitFor()
      // What was typed is in no address, also not after another operation was chosen.
      await page.getByRole('button', { name: 'Verify BVN' }).click()
      await page.waitForURL(/#\/try\?operation=verify_bvn$/)
    })
  })

  describe('runs an example of the page Try it', () => {
    it.each(LANGUAGES)('runs as it is shown, with the key of the environment: $language', async (each) => {
      const { page } = at.visitor
      await page.goto('about:blank')
      await page.goto(`${at.server.admin}/console#/try`)
      await page.getByText('Headers: consent, purpose').click()
      await page.getByLabel('X-Purpose (optional)').fill('loan')
      await page.getByLabel('last_name (optional)').fill(`O'Neil`)
      await page.getByRole('radio', { name: each.language }).check()
      const code = page.getByRole('region', { name: `the call in ${each.language}` })
      const text = (await code.textContent()) ?? ''
      expect(text).not.toContain(SANDBOX_KEY)
      const path = join(at.server.dataDir, each.file)
      writeFileSync(path, text)
      const env = { ...process.env, TABBAT_KEY: SANDBOX_KEY, PYTHONIOENCODING: 'utf8' }
      const { stdout } = await run(each.program, [path], { env })
      expect(stdout).toContain('200')
      expect(stdout).toContain('VERIFIED')
      const reference = /ver_[0-9a-z]{36}/.exec(stdout)?.[0] ?? ''
      expect(await at.server.run('audit', 'show', reference)).toContain('purpose: loan')
      at.visitor.expectClean()
    })

    it('never has the key that was entered', async () => {
      const { page } = at.visitor
      const { key } = JSON.parse(
        await at.server.run('keys', 'create', '--name', 'x', '--mode', 'test', '--json'),
      )
      await page.goto('about:blank')
      await page.goto(`${at.server.admin}/console#/try`)
      await page.getByLabel('API key', { exact: true }).fill(key)
      for (const { language } of LANGUAGES) {
        await page.getByRole('radio', { name: language }).check()
        const text = (await page.locator('main').textContent()) ?? ''
        expect(text).toContain('TABBAT_KEY')
        expect(text).not.toContain(key)
        expect(text).not.toContain(SANDBOX_KEY)
      }
    })
  })
})
