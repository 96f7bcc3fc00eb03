import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { CANARY } from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { relay } from '../../src/simulator/relay.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { bearer, PHONE } from '../app.ts'
import { startServer } from '../process/tabbat.ts'
import { type Collector, openCollector, toRecord } from './collector.ts'
import { openServer, VERIFY } from './traced-server.ts'

let collector: Collector
beforeEach(async () => {
  collector = await openCollector()
})
afterEach(() => collector.close())

const verify = (server: { post: Awaited<ReturnType<typeof openServer>>['post'] }, nin = '12345678901') =>
  server.post(VERIFY, { nin, phone: PHONE })

describe('metrics', () => {
  it('are those of /metrics, with the node and the worker', async () => {
    const settings = {
      OTEL_SERVICE_NAME: 'kyc',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20b',
    }
    const server = await openServer(collector.url, { ...settings, OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' })
    for (let count = 0; count < 3; count++) await verify(server)
    const printed = await server.context.metrics.print()
    const names = new Set(
      [...printed.matchAll(/^(\w+?)(?:_bucket|_sum|_count)?[{ ]/gm)].map(([, name = '']) => name),
    )
    await server.finish()
    const sent = collector.metrics()
    const find = (name: string) => sent.find(({ metric }) => metric.name === name)
    expect([...names].filter((name) => !find(name))).toEqual([])
    const node = find('tabbat_requests_total')?.resource['tabbat.node']
    expect(find('tabbat_requests_total')?.resource).toMatchObject({
      'service.name': 'kyc',
      'service.instance.id': `${node}.1`,
      'deployment.environment.name': 'a b',
    })
    const [point] = find('tabbat_requests_total')?.metric.sum?.dataPoints ?? []
    const labels = { operation: 'verify_nin', mode: 'test', outcome: 'verified' }
    expect([toRecord(point?.attributes ?? []), point?.asDouble]).toEqual([labels, 3])
    expect(find('tabbat_requests_total')?.metric.sum?.isMonotonic).toBe(true)
    const [times] = find('tabbat_request_duration_seconds')?.metric.histogram?.dataPoints ?? []
    expect(toRecord(times?.attributes ?? [])).toEqual(labels)
    expect(times?.bucketCounts).toHaveLength((times?.explicitBounds?.length ?? 0) + 1)
    expect(times?.bucketCounts?.reduce((sum: number, count) => sum + Number(String(count)), 0)).toBe(3)
    expect([times?.explicitBounds?.[0], String(times?.count)]).toEqual([0.0005, '3'])
    expect(find('tabbat_audit_available')?.metric.gauge?.dataPoints[0]?.asDouble).toBe(1)
  })

  it('or traces can be left out', async () => {
    const server = await openServer(collector.url, { OTEL_METRICS_EXPORTER: 'none' })
    await verify(server)
    await server.finish()
    expect([collector.metrics().length, collector.spans().length > 0]).toEqual([0, true])
    const other = await openServer(collector.url, { OTEL_TRACES_EXPORTER: 'none' })
    await verify(other)
    expect(JSON.stringify(await other.finish())).not.toContain('trace_id')
    expect(collector.metrics().length).toBeGreaterThan(0)
  })
})

/** Every way in which a value could be written down. */
const spellings = (value: string) => [
  value,
  Buffer.from(value).toString('hex'),
  Buffer.from(value).toString('base64').replace(/=+$/, '').slice(0, -1),
  encodeURIComponent(value),
]

it('no exported byte contains a number, a phone, a name, a key, or a text of a vendor', async () => {
  const [nin, bvn, name] = ['73519284650', '64820193755', 'Zzyzxcanary']
  const vendor = await openStandIn(relay)
  const sources = { TABBAT_NIN_SOURCES: 'relay', TABBAT_BVN_SOURCES: 'relay', TABBAT_RELAY_TRACEPARENT: 'on' }
  const server = await openServer(collector.url, { ...vendor.settings, ...sources })
  const key = await server.createLiveKey()
  const live = bearer(key)
  const phone = toPhoneCoreOf(nin)
  const statuses = [
    await server.post(VERIFY, { nin, phone: `0${phone}`, name }, { ...live, 'x-request-id': nin }),
    await server.post(
      VERIFY,
      { nin, phone: '08147730921' },
      { ...live, 'idempotency-key': `${name}-${nin}` },
    ),
    await server.post(VERIFY, { nin, phone: name }, { ...live, traceparent: `00-${nin}-${phone}-01` }),
    await server.post(
      `${VERIFY}?nin=${nin}`,
      { nin, phone },
      { authorization: `Bearer ${key}x`, 'user-agent': name },
    ),
    await server.post(`/api/v2/internet/data/${name}/lookup`, {}, live),
    await server.post('/api/v2/kyc/verify-bvn', { bvn, phone: '08147730921', amount: '1' }, live),
  ].map(({ status }) => status)
  expect(statuses).toEqual([200, 422, 422, 401, 405, 422])
  vendor.fail('error_in_200')
  expect((await server.post(VERIFY, { nin, phone: `0${phone}` }, live)).status).toBe(502)
  await server.finish()
  await vendor.close()
  expect(collector.spans().filter(({ kind }) => kind === 2)).toHaveLength(6)
  const bytes = collector.bytes()
  const canaries = [nin, bvn, phone, '8147730921', name, key, key.slice(-38), SANDBOX_KEY, CANARY]
  for (const canary of canaries)
    for (const spelling of spellings(canary))
      expect(bytes.includes(spelling), `leaked: ${canary}`).toBe(false)
  // A number as the bytes of an id.
  expect(bytes.toString('hex')).not.toContain(nin)
  const allowed =
    /^(http\.(request\.method|route|response\.status_code)|error\.type|tabbat\.(operation|mode|outcome|source|source\.result))$/
  const names = collector.spans().flatMap(({ attributes }) => Object.keys(attributes))
  expect(names.filter((attribute) => !allowed.test(attribute))).toEqual([])
})

describe('a collector that does not answer', () => {
  const warnings = (lines: readonly Record<string, unknown>[]) =>
    lines
      .filter(({ event }) => String(event).startsWith('otlp_'))
      .map(({ event, signal, reason }) => [event, signal, reason])

  it('is named in one warning, and requests go on', async () => {
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    const server = await openServer(`http://127.0.0.1:${port}`, {
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    })
    // More than two batches of spans.
    for (let round = 0; round < 40; round++) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => verify(server)))
      expect(answers.every(({ status }) => status === 200)).toBe(true)
    }
    expect(warnings(await server.finish()).sort()).toEqual([
      ['otlp_export_failed', 'metrics', 'ECONNREFUSED'],
      ['otlp_export_failed', 'traces', 'ECONNREFUSED'],
    ])
  })

  it('gets a bounded number of spans when it answers again', async () => {
    collector.answerWith('nothing')
    const server = await openServer(collector.url, {
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    })
    for (let round = 0; round < 90; round++)
      await Promise.all(Array.from({ length: 10 }, () => verify(server)))
    collector.answerWith(200)
    await server.finish()
    // Of 3600: the queue, and a batch that began to be sent in between.
    expect(collector.spans().length).toBeLessThanOrEqual(2048 + 512)
  })
})

describe('a real server', () => {
  it('sends what is left when it stops, from every worker', async () => {
    const settings = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      TABBAT_WORKERS: '2',
      TABBAT_LOG_LEVEL: 'silent',
    }
    const server = await startServer(settings)
    const send = async () => {
      const response = await fetch(server.url + VERIFY, {
        method: 'POST',
        headers: { ...bearer(), 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ nin: '12345678901', phone: PHONE }),
      })
      return response.status
    }
    const metricsUrl = /metrics +(\S+)/.exec(server.banner)?.[1] ?? ''
    const readMetrics = async () => (await fetch(metricsUrl)).text()
    await expect.poll(readMetrics).toContain('worker="2"')
    for (let count = 0; count < 8; count++) expect(await send()).toBe(200)
    expect(await server.stop()).toBe(0)
    const requests = collector.spans().filter(({ kind }) => kind === 2)
    expect(requests).toHaveLength(8)
    expect(new Set(requests.map(({ resource }) => resource['tabbat.worker']))).toEqual(new Set(['1', '2']))
    expect(new Set(requests.map(({ resource }) => resource['tabbat.node'])).size).toBe(1)
    const instances = collector.metrics().map(({ resource }) => resource['service.instance.id'])
    expect(new Set(instances).size).toBe(2)
  })

  it('stops although the collector accepts and never answers', async () => {
    collector.answerWith('nothing')
    const server = await startServer({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TABBAT_LOG_LEVEL: 'silent',
    })
    expect(await server.stop()).toBe(0)
    expect(collector.count()).toBeGreaterThan(0)
  })
})
