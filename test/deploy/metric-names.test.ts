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

/** The counters that the rules compare over time, as selectors of series. */
const COUNTED = [
  ...new Set(
    [
      ...readFileSync('deploy/prometheus/rules.yml', 'utf8').matchAll(
        /(?:rate|increase)\((\w+_total\{[^}]*\})/g,
      ),
    ].map(([, selector = '']) => selector.replace('job="tabbat"', '').replace('{,', '{')),
  ),
]

type Series = { readonly name: string; readonly labels: ReadonlyMap<string, string>; readonly value: number }

const readLabels = (text: string) =>
  [...text.matchAll(/(\w+)(=~?|!=)"([^"]*)"/g)].map(([, name = '', operator = '', value = '']) => ({
    name,
    operator,
    value,
  }))

const readSeries = (scrape: string): Series[] =>
  [...scrape.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: new Map(readLabels(labels).map((label) => [label.name, label.value])),
    value: Number(value),
  }))

function isSelected({ name, labels }: Series, selector: string): boolean {
  const [wanted, rest = ''] = selector.split('{')
  return (
    name === wanted &&
    readLabels(rest).every(({ name: label, operator, value }) => {
      const found = labels.get(label) ?? ''
      if (operator === '!=') return found !== value
      return operator === '=' ? found === value : new RegExp(`^(?:${value})$`).test(found)
    })
  )
}

/** The alternatives of a label, each as a selector of its own. */
const splitAlternatives = (selector: string): string[] => {
  const [, list = ''] = /outcome=~"([^"]*)"/.exec(selector) ?? []
  return list === ''
    ? [selector]
    : list.split('|').map((outcome) => selector.replace(`outcome=~"${list}"`, `outcome="${outcome}"`))
}

describe('a server that has just started', () => {
  let scrape: Series[]
  beforeAll(async () => {
    const server = await openTestApp({ ...VENDOR, TABBAT_METRICS_TOKEN: TOKEN })
    const metrics = buildMetricsServer(server.context)
    const { body } = await inject(metrics, { url: '/metrics', headers: { ...bearer(TOKEN), host: 'any' } })
    scrape = readSeries(body)
    await metrics.close()
    await server.close()
  })

  // Else its first events would be no increase for Prometheus.
  it.each([...new Set(COUNTED.flatMap(splitAlternatives))])('has %s with 0', (selector) => {
    const found = scrape.filter((series) => isSelected(series, selector))
    expect(found.length).toBeGreaterThan(0)
    expect(found.filter(({ value }) => value !== 0)).toEqual([])
  })

  it('has those of verifications for each operation and mode', () => {
    const outcomes = ['verified', 'too_many_attempts', 'queue_full', 'source_timeout', 'internal_error']
    for (const operation of ['verify_nin', 'verify_bvn'])
      for (const mode of ['live', 'test'])
        for (const outcome of outcomes)
          expect(
            scrape.filter((series) =>
              isSelected(
                series,
                `tabbat_requests_total{operation="${operation}",mode="${mode}",outcome="${outcome}"}`,
              ),
            ),
          ).toHaveLength(1)
  })

  it('has few of them, and no durations', () => {
    const count = (name: string) => scrape.filter((series) => series.name === name).length
    expect(count('tabbat_requests_total')).toBeLessThan(150)
    expect(count('tabbat_request_duration_seconds_bucket')).toBe(0)
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
