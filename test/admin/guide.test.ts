import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addGuide } from '../../src/admin/guide.ts'
import { createFolderReader } from '../../src/assets/asset.ts'
import { type App, createApp } from '../../src/http/app.ts'
import { createToErrorReply } from '../../src/http/send.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { inject } from '../inject.ts'

const KEYS = '<!doctype html><title>Keys</title>'
let root: string
let app: App

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'tabbat-guide-'))
  app = createApp({
    toErrorReply: createToErrorReply(createLog('silent'), () => {}),
    isStopping: () => false,
  })
  addGuide(app, createFolderReader(root))
})
afterAll(() => rmSync(root, { recursive: true }))

const send = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
  inject(app, { method, url, headers })

/** As in the bundle: text in gzip only. */
function build(): void {
  const folder = join(root, 'guide/dist')
  mkdirSync(join(folder, 'inner'), { recursive: true })
  const texts = {
    'index.html': '<!doctype html><title>Guide</title>',
    'keys.html': KEYS,
    'not-found.html': '<!doctype html><title>Page not found</title>',
    'style.css': 'body { margin: 0 }',
    'receiver.py.txt': 'print()',
    'program.sh': 'not for the page',
    'inner/deep.html': 'not for the page',
  }
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.gz`), gzipSync(text))
  writeFileSync(join(folder, 'shot.png'), Buffer.from([0x89, 0x50]))
  writeFileSync(join(root, 'guide/secret.html'), 'not for the page')
}

describe('the guide', () => {
  it('is 503 until it is built', async () => {
    const missing = await send('/guide/')
    expect([missing.statusCode, missing.body]).toEqual([
      503,
      'The guide is not built. Run npm run docs in the checkout.\n',
    ])
    build()
    expect((await send('/guide/')).statusCode).toBe(200)
  })

  it('is at /guide/, so that its relative links work', async () => {
    const answer = await send('/guide')
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/guide/'])
    expect((await send('/guide/')).body).toContain('<title>Guide</title>')
  })

  it.each(['/guide/keys.html', '/guide/keys'])('has a page at %s, in gzip if accepted', async (url) => {
    const packed = await send(url, { 'accept-encoding': 'gzip' })
    expect(packed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      vary: 'accept-encoding',
    })
    expect(gunzipSync(packed.rawPayload).toString()).toBe(KEYS)
    const plain = await send(url)
    expect([plain.headers['content-encoding'], plain.body]).toEqual([undefined, KEYS])
  })

  it('answers 304 to who has the page, and HEAD without the page', async () => {
    const { headers } = await send('/guide/keys.html')
    const tag = String(headers.etag)
    const again = await send('/guide/keys.html', { 'if-none-match': `"other", ${tag}` })
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', tag])
    expect((await send('/guide/style.css', { 'if-none-match': tag })).statusCode).toBe(200)
    const head = await send('/guide/keys.html', {}, 'HEAD')
    expect([head.statusCode, head.body, head.headers['content-length']]).toEqual([
      200,
      '',
      String(KEYS.length),
    ])
    expect((await send('/guide/keys.html', {}, 'POST')).statusCode).toBe(405)
  })

  it.each([
    ['/guide/style.css', 'text/css; charset=utf-8'],
    ['/guide/shot.png', 'image/png'],
    ['/guide/receiver.py.txt', 'text/plain; charset=utf-8'],
  ])('sends %s as %s, under a policy without inline script', async (url, type) => {
    const { statusCode, headers } = await send(url)
    expect([statusCode, headers['content-type']]).toEqual([200, type])
    expect(headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    )
    expect(headers['x-content-type-options']).toBe('nosniff')
  })

  it.each([
    'no-such-page.html',
    'keys.html.gz',
    'program.sh',
    'inner',
    'inner%2fdeep.html',
    '..%2fsecret.html',
    '%2e%2e%2fsecret',
    '..%2f..%2f..%2fetc%2fpasswd',
    '__proto__',
    '%00',
  ])('has a page that says that there is no page: %s', async (name) => {
    const answer = await send(`/guide/${name}`)
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([404, 'no-store'])
    expect(answer.body).toContain('Page not found')
  })

  it.each(['inner/deep.html', '../secret.html', '../../package.json'])('has no folders: %s', async (name) => {
    const answer = await send(`/guide/${name}`)
    expect(answer.statusCode).toBe(404)
    expect(answer.body).not.toContain('not for the page')
  })
})
