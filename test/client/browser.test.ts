import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { PHONE } from '../app.ts'
import { CHROMIUM, launch } from '../console/browser.ts'
import { type ClientServer, openClientServer } from './open-server.ts'

/** The built client in a page of the origin of the API. */
describe.skipIf(!CHROMIUM)('in Chromium, the client', () => {
  let server: ClientServer
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    execFileSync(process.execPath, ['packages/client/build.ts'], { stdio: 'ignore' })
    const code = readFileSync('packages/client/dist/index.js', 'utf8')
    server = await openClientServer()
    browser = await launch()
    page = await browser.newPage()
    await page.route('**/test/*', (route) =>
      route.request().url().endsWith('.js')
        ? route.fulfill({ contentType: 'text/javascript', body: code })
        : route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>test</title>' }),
    )
    await page.goto(`${server.url}/test/page`)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })

  /** Runs in the page, with `tabbat` and `TabbatError` in scope. */
  const run = (code: string) =>
    page.evaluate(`(async () => {
      const { createTabbat, TabbatError } = await import('/test/client.js')
      const tabbat = createTabbat({ key: '${SANDBOX_KEY}', baseUrl: location.origin })
      ${code}
    })()`)

  it('verifies, and tells how details compare', async () => {
    const request = JSON.stringify({ nin: '12345678901', phone: PHONE, first_name: 'Nemo' })
    expect(await run(`return await tabbat.verifyNin(${request})`)).toMatchObject({
      verified: true,
      person: { nin_number: '12345678901' },
      match: { first_name: 'no' },
    })
    expect(await run(`return (await tabbat.listSmeBundles()).length`)).toBeGreaterThan(0)
  })

  it('throws errors without the values of the request', async () => {
    const request = JSON.stringify({ nin: '123', phone: PHONE })
    const error = await run(`return await tabbat.verifyNin(${request}).catch((thrown) => ({
      ...thrown.toJSON(), isOwn: thrown instanceof TabbatError }))`)
    expect(error).toMatchObject({ isOwn: true, code: 'validation_failed', status: 422, retryable: false })
    expect(JSON.stringify(error)).not.toContain(PHONE)
  })

  it('reads the rows of a batch as they arrive', async () => {
    const rows = JSON.stringify(
      ['one', 'two'].map((reference) => ({
        operation: 'verify_nin',
        nin: '12345678901',
        phone: PHONE,
        reference,
      })),
    )
    const found = await run(`
      const { id } = await tabbat.batches.create(${rows})
      const references = []
      for await (const row of tabbat.batches.results(id)) references.push(row.reference)
      return references`)
    expect(found).toEqual(['one', 'two'])
  })
})
