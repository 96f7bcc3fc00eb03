import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPage } from '../../src/admin/page.ts'
import { createFolderReader } from '../../src/assets/asset.ts'
import { type App, createApp } from '../../src/http/app.ts'
import { createToErrorReply } from '../../src/http/send.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { inject } from '../inject.ts'

const SCRIPT = 'export const words = "the same words again and again, the same words again and again"'
let root: string
let folder: string
let app: App

const createPageApp = () =>
  createApp({
    toErrorReply: createToErrorReply(createLog('silent'), () => {}),
    isStopping: () => false,
  })

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'tabbat-page-'))
  folder = join(root, 'console/dist')
  app = createPageApp()
  addPage(app, false, createFolderReader(root))
})
afterAll(() => rmSync(root, { recursive: true }))

const get = (url: string, headers: Record<string, string> = {}) =>
  inject(app, { method: 'GET', url, headers })

function build(): void {
  mkdirSync(join(folder, 'assets/inner'), { recursive: true })
  writeFileSync(join(folder, 'secret.txt'), 'not for the page')
  writeFileSync(join(folder, 'assets/notes.md'), 'not for the page')
  writeFileSync(join(folder, 'assets/inner/deep.js'), 'not for the page')
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Tabbat</title>')
  writeFileSync(join(folder, 'assets/index-abc.js'), SCRIPT)
  writeFileSync(join(folder, 'assets/index-abc.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'assets/index-def.css'), 'body { margin: 0 }')
}

describe('the console page', () => {
  it('is 503 until it is built', async () => {
    const missing = await get('/console')
    expect([missing.statusCode, missing.body]).toEqual([
      503,
      'The console is not built. Run npm run build:console in the checkout.\n',
    ])
    expect((await get('/console/assets/index-abc.js')).statusCode).toBe(503)
    build()
    expect((await get('/console')).statusCode).toBe(200)
  })

  it.each(['/console', '/console/'])('is served at %s with no-store', async (url) => {
    const answer = await get(url)
    expect(answer.body).toContain('<title>Tabbat</title>')
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'accept-encoding',
    })
  })

  it.each(['/console/keys', '/console/no/such/page'])('is a page with status 404 at %s', async (url) => {
    const answer = await get(url)
    expect([answer.statusCode, answer.body]).toEqual([404, expect.stringContaining('<title>Tabbat</title>')])
  })

  it('is the redirect target of /', async () => {
    const answer = await get('/')
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/console'])
  })

  it('has immutable assets, in gzip if accepted', async () => {
    const packed = await get('/console/assets/index-abc.js', { 'accept-encoding': 'br, gzip;q=0.8' })
    expect(packed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    })
    expect(gunzipSync(packed.rawPayload).toString()).toBe(SCRIPT)
    for (const header of ['', 'br', 'gzip;q=0', 'gzip;q=0.0', 'xgzip']) {
      const plain = await get('/console/assets/index-abc.js', { 'accept-encoding': header })
      expect([plain.headers['content-encoding'], plain.body], header).toEqual([undefined, SCRIPT])
    }
    const style = await get('/console/assets/index-def.css', { 'accept-encoding': 'gzip' })
    expect([style.headers['content-encoding'], style.body]).toEqual([undefined, 'body { margin: 0 }'])
  })

  it.each([
    'index.html',
    'notes.md',
    'index-abc.js.gz',
    'inner',
    'inner/deep.js',
    'inner%2fdeep.js',
    '..%2fsecret.txt',
    '%2e%2e%2fsecret.txt',
    '..%2f..%2fpackage.json',
    '__proto__',
    '%00',
  ])('serves no other file: %s', async (name) => {
    const answer = await get(`/console/assets/${name}`)
    expect(answer.statusCode).toBe(404)
    expect(answer.body).not.toContain('not for the page')
  })

  it.each(['/', '/console', '/console/assets/index-abc.js'])('has security headers: %s', async (url) => {
    const { headers } = await get(url)
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(headers['permissions-policy']).toContain('camera=()')
  })
})
