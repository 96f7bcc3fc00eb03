import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildMetricsServer } from '../../src/admin/server.ts'
import type { App } from '../../src/http/app.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { inject } from '../inject.ts'

const TOKEN = 'let-me-scrape'
const VENDOR = {
  TABBAT_NIN_SOURCES: 'dojah',
  TABBAT_DOJAH_APP_ID: 'app',
  TABBAT_DOJAH_SECRET: 'secret',
  TABBAT_DOJAH_PRICE: '50',
}
let server: TestApp
let metrics: App

beforeAll(async () => {
  const tls = writeCertificate(createCertificate())
  server = await openTestApp({ ...VENDOR, ...tls, TABBAT_METRICS_TOKEN: TOKEN })
  metrics = buildMetricsServer(server.context)
  await server.app.inject({ url: '/api/v2/sme-data/list', headers: bearer() })
})
afterAll(async () => {
  await metrics.close()
  await server.close()
})

const get = (url: string, token = TOKEN) =>
  inject(metrics, { url, headers: { ...bearer(token), host: 'any.host' } })

describe('the listener of the metrics', () => {
  it('has the metrics, under any host name, and asks for the token', async () => {
    const { statusCode, body } = await get('/metrics')
    expect([statusCode, body.includes('tabbat_requests_total{operation="list_sme_bundles"')]).toEqual([
      200,
      true,
    ])
    expect((await get('/metrics', 'wrong')).statusCode).toBe(401)
  })

  it.each(['/', '/console', '/admin/session', '/admin/openapi.json', '/health/ready', '/docs'])(
    'has no %s',
    async (path) => expect((await get(path)).statusCode).toBe(404),
  )
})

type Family = { readonly name: string; readonly type: string; readonly help: string }

async function listFamilies(): Promise<Family[]> {
  const { body } = await get('/metrics')
  return [...body.matchAll(/^# HELP (\S+) (.+)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name = '', help = '', type = '']) => ({ name, type, help }),
  )
}

describe('the names of the metrics', () => {
  it('end in _total for counters, and for nothing else', async () => {
    const families = await listFamilies()
    expect(families.length).toBeGreaterThan(40)
    const odd = families.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))
    expect(odd).toEqual([])
  })

  it('have base units', async () => {
    const names = (await listFamilies()).map(({ name }) => name)
    expect(
      names.filter((name) => /_(ms|milliseconds|minutes|hours|kb|mb|percent|kobo|rate)(_|$)/.test(name)),
    ).toEqual([])
  })

  const hasPromtool = spawnSync('promtool', ['--version']).status === 0
  it.skipIf(!hasPromtool)('pass promtool check metrics (skipped without promtool)', async () => {
    const { body } = await get('/metrics')
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: body })
    expect([status, stdout.toString(), stderr.toString()]).toEqual([0, '', ''])
  })
})
