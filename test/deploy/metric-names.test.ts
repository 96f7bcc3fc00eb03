import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildMetricsServer } from '../../src/admin/server.ts'
import { ERRORS } from '../../src/errors.ts'
import type { App } from '../../src/http/app.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const TOKEN = 'let-me-scrape'
const VENDOR = {
  TABBAT_NIN_SOURCES: 'dojah',
  TABBAT_DOJAH_APP_ID: 'app',
  TABBAT_DOJAH_SECRET: 'secret',
  TABBAT_DOJAH_PRICE: '50',
  TABBAT_DOJAH_DAILY_CAP: '1000',
}
const FILES = [...globSync('deploy/prometheus/*.yml'), ...globSync('deploy/grafana/*.json')]
const NAME = /(?<![:\w])(?:tabbat|process|nodejs)_\w+(?![:\w])/g

/** The metrics that a file names. Names with a colon are those of recording rules. */
const listNames = (text: string) => [
  ...new Set([...text.matchAll(NAME)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))),
]

// PostgreSQL: it has metrics that SQLite lacks.
describe.skipIf(!hasPostgres())('a scrape of a server', () => {
  let server: TestApp
  let metrics: App
  let scrape: string
  beforeAll(async () => {
    const tls = writeCertificate(createCertificate())
    const database = { TABBAT_DATABASE_URL: await createTestDatabase() }
    server = await openTestApp({ ...VENDOR, ...tls, ...database, TABBAT_METRICS_TOKEN: TOKEN })
    metrics = buildMetricsServer(server.context)
    await server.createKey({ mode: 'live', expiresAt: Date.now() + 86_400_000 })
    await server.context.store.meta.set({ last_backup_at: new Date().toISOString() })
    await server.context.audit.record([{ phase: 'backup_written', outcome: 'ok' }])
    await server.context.audit.checkpoint()
    await server.app.inject({ url: '/api/v2/sme-data/list', headers: bearer() })
    scrape = (await inject(metrics, { url: '/metrics', headers: { ...bearer(TOKEN), host: 'any' } })).body
  })
  afterAll(async () => {
    await metrics.close()
    await server.close()
  })

  it.each(FILES)('has every metric that %s names', (file) => {
    const families = new Set([...scrape.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
    expect(listNames(readFileSync(file, 'utf8')).filter((name) => !families.has(name))).toEqual([])
  })

  it('has the state of the audit log, the disks and the spend caps', () => {
    const read = (name: string) => Number(scrape.split(`\n${name} `)[1]?.split('\n')[0])
    expect(read('tabbat_audit_available')).toBe(1)
    expect(read('tabbat_audit_rows_since_checkpoint')).toBe(0)
    expect(Math.abs(Date.now() / 1000 - read('tabbat_audit_checkpoint_timestamp_seconds'))).toBeLessThan(600)
    expect(read('tabbat_source_spend_cap_naira{source="dojah"}')).toBe(1000)
    for (const folder of ['data', 'checkpoints']) {
      const [free, size] = ['free', 'size'].map((part) =>
        read(`tabbat_disk_${part}_bytes{folder="${folder}"}`),
      )
      expect(free).toBeGreaterThan(0)
      expect(size).toBeGreaterThanOrEqual(free as number)
    }
  })
})

it.each(FILES)('%s names outcomes that exist', (file) => {
  const text = readFileSync(file, 'utf8').replaceAll('\\"', '"')
  const outcomes = [...text.matchAll(/outcome[=!]~?"([^"]*)"/g)].flatMap(([, list = '']) => list.split('|'))
  const known = new Set([...Object.keys(ERRORS), 'verified', 'ok', 'aborted'])
  expect(outcomes.filter((outcome) => !known.has(outcome))).toEqual([])
})

it.each(FILES.filter((file) => file.endsWith('.json')))('%s names recording rules that exist', (file) => {
  const rules = readFileSync('deploy/prometheus/rules.yml', 'utf8')
  const recorded = readFileSync(file, 'utf8').match(/\b\w+:tabbat_\w+:\w+/g) ?? []
  expect(recorded.filter((name) => !rules.includes(`record: ${name}\n`))).toEqual([])
})
