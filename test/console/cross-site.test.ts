import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

/** Requests that a page of another site can make a browser send. */
const toPage = (admin: string) => `<!doctype html><title>another site</title>
<iframe name="nowhere"></iframe>
<form target="nowhere" method="post" action="${admin}/admin/invitations" enctype="text/plain">
  <input name='{"role":"owner","x":"' value='"}'></form>
<form target="nowhere" method="post" action="${admin}/admin/keys/x/revoke"></form>
<script type="module">
const target = ${JSON.stringify(admin)}
const body = JSON.stringify({ name: 'stolen', mode: 'live', scopes: ['kyc:nin'] })
const requests = [
  ['/admin/keys', { method: 'POST', body, headers: { 'content-type': 'application/json' } }],
  ['/admin/keys', { method: 'POST', body, mode: 'no-cors' }],
  ['/admin/keys', { method: 'POST', body: new Blob([body]), mode: 'no-cors' }],
  ['/admin/audit/export', { mode: 'no-cors' }],
  ['/admin/keys', {}],
]
for (const form of document.forms) form.submit()
const answers = []
for (const [path, init] of requests)
  answers.push(await fetch(target + path, { credentials: 'include', ...init }).then((answer) => answer.type + ' ' + answer.status, () => 'refused'))
navigator.sendBeacon(target + '/admin/keys', body)
document.title = 'done ' + JSON.stringify(answers)
</script>`

describe.skipIf(!CHROMIUM)('another site, while a user is signed in', () => {
  let server: ConsoleServer
  let browser: Browser
  let visitor: Visit
  let otherSite: Server
  let port = 0
  beforeAll(async () => {
    server = await startConsoleServer()
    otherSite = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end(toPage(server.admin)),
    )
    await new Promise<void>((done) => otherSite.listen(0, '127.0.0.1', done))
    port = (otherSite.address() as AddressInfo).port
    browser = await launch()
    visitor = await visit(browser)
    await acceptInvitation(visitor.page, await server.invite('owner'), 'ada')
    await server.run('keys', 'create', '--name', 'mine', '--mode', 'test')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    otherSite?.close()
  })

  /** All rows except those of this export. */
  const readLog = async () =>
    (await server.run('audit', 'export'))
      .trim()
      .split('\n')
      .filter((row) => !/"phase":"audit_exported".*by \S+ \(cli\)/.test(row))

  // Browsers treat two ports of one host as the same site and send the cookie.
  it.each(['127.0.0.1', 'localhost'])('cannot change or read anything: %s', async (host) => {
    const before = await readLog()
    const page = await visitor.page.context().newPage()
    await page.goto(`http://${host}:${port}/`)
    await expect.poll(() => page.title()).toMatch(/^done/)
    expect(JSON.parse((await page.title()).slice(5))).toEqual([
      'refused',
      expect.stringMatching(/^opaque|refused/),
      expect.stringMatching(/^opaque|refused/),
      expect.stringMatching(/^opaque|refused/),
      'refused',
    ])
    await page.close()
    expect(await readLog()).toEqual(before)
    const keys = JSON.parse(await server.run('keys', 'list', '--json')) as { name: string; state: string }[]
    expect(keys.map(({ name, state }) => `${name} ${state}`)).toEqual(['mine active'])
  })

  it('cannot show the console inside its own page', async () => {
    const page = await visitor.page.context().newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.setContent(`<iframe src="${server.admin}/console"></iframe>`)
    const frame = await (await page.waitForSelector('iframe')).contentFrame()
    await expect.poll(() => frame?.url()).toMatch(/^chrome-error:/)
    await page.close()
  })

  it('has not ended the session', async () => {
    await visitor.page.reload()
    await visitor.page.getByRole('navigation', { name: 'Main' }).waitFor()
  })
})
