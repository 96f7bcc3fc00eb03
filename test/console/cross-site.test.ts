import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, startConsoleServer } from './console-server.ts'

/** What a page elsewhere can make a browser send without being asked. */
const toPage = (admin: string) => `<!doctype html><title>elsewhere</title>
<iframe name="nowhere"></iframe>
<form target="nowhere" method="post" action="${admin}/admin/invitations" enctype="text/plain">
  <input name='{"role":"owner","x":"' value='"}'></form>
<form target="nowhere" method="post" action="${admin}/admin/keys/x/revoke"></form>
<script type="module">
const target = ${JSON.stringify(admin)}
const wish = JSON.stringify({ name: 'stolen', mode: 'live', scopes: ['kyc:nin'] })
const asks = [
  ['/admin/keys', { method: 'POST', body: wish, headers: { 'content-type': 'application/json' } }],
  ['/admin/keys', { method: 'POST', body: wish, mode: 'no-cors' }],
  ['/admin/keys', { method: 'POST', body: new Blob([wish]), mode: 'no-cors' }],
  ['/admin/audit/export', { mode: 'no-cors' }],
  ['/admin/keys', {}],
]
for (const form of document.forms) form.submit()
const answers = []
for (const [path, init] of asks)
  answers.push(await fetch(target + path, { credentials: 'include', ...init }).then((answer) => answer.type + ' ' + answer.status, () => 'refused'))
navigator.sendBeacon(target + '/admin/keys', wish)
document.title = 'done ' + JSON.stringify(answers)
</script>`

describe.skipIf(!CHROMIUM)('another site, while somebody is signed in', () => {
  let server: ConsoleServer
  let browser: Browser
  let someone: Visit
  let elsewhere: Server
  let port = 0
  beforeAll(async () => {
    server = await startConsoleServer()
    elsewhere = createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end(toPage(server.admin)),
    )
    await new Promise<void>((done) => elsewhere.listen(0, '127.0.0.1', done))
    port = (elsewhere.address() as AddressInfo).port
    browser = await launch()
    someone = await visit(browser)
    await acceptInvitation(someone.page, await server.invite('owner'), 'ada')
    await server.run('keys', 'create', '--name', 'mine', '--mode', 'test')
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    elsewhere?.close()
  })

  /** Every row, but for those of reading the log here. */
  const readLog = async () =>
    (await server.run('audit', 'export'))
      .trim()
      .split('\n')
      .filter((row) => !/"phase":"audit_exported".*by command line/.test(row))

  // Of two ports of one host, a browser says that they are the same site, and sends the cookie along.
  it.each(['127.0.0.1', 'localhost'])('cannot change or read anything: %s', async (host) => {
    const before = await readLog()
    const page = await someone.page.context().newPage()
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
    const page = await someone.page.context().newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.setContent(`<iframe src="${server.admin}/console"></iframe>`)
    const frame = await (await page.waitForSelector('iframe')).contentFrame()
    await expect.poll(() => frame?.url()).toMatch(/^chrome-error:/)
    await page.close()
  })

  it('has not signed anybody out', async () => {
    await someone.page.reload()
    await someone.page.getByRole('navigation', { name: 'Main' }).waitFor()
  })
})
