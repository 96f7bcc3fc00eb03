import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { relay } from '../../src/simulator/relay.ts'
import { openStandIn, type StandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { bearer, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { type Collector, openCollector, type Span } from './collector.ts'
import { openServer, VERIFY } from './traced-server.ts'

let collector: Collector
beforeEach(async () => {
  collector = await openCollector()
})
afterEach(() => collector.close())

/** The spans of one trace: the request, and its steps in the order of their start. */
function readTrace(spans: readonly Span[]) {
  const request = spans.find(({ kind }) => kind === 2) as Span
  const steps = spans.filter(({ parent }) => parent === request.id)
  expect(steps).toHaveLength(spans.length - 1)
  expect(new Set(spans.map(({ trace }) => trace)).size).toBe(1)
  for (const { startedAt, endedAt } of steps) {
    expect(startedAt >= request.startedAt && startedAt <= endedAt).toBe(true)
  }
  return { request, steps: steps.sort((a, b) => Number(a.startedAt - b.startedAt)) }
}

const DATABASES = [
  ['SQLite', async () => ({})],
  ['PostgreSQL', async () => ({ TABBAT_DATABASE_URL: await createTestDatabase() })],
] as const

describe.each(DATABASES)('on %s, the trace', (name, createDatabase) => {
  const test = it.skipIf(name === 'PostgreSQL' && !hasPostgres())

  test('of a verification in the sandbox has its steps', async () => {
    const server = await openServer(collector.url, await createDatabase())
    expect((await server.post(VERIFY, { nin: '12345678901', phone: PHONE })).status).toBe(200)
    const [line] = (await server.finish()).filter(({ event }) => event === 'request')
    const { request, steps } = readTrace(collector.spans())
    expect(request).toMatchObject({
      name: `POST ${VERIFY}`,
      parent: '',
      isFailed: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': VERIFY,
        'http.response.status_code': 200,
        'tabbat.operation': 'verify_nin',
        'tabbat.mode': 'test',
        'tabbat.outcome': 'verified',
      },
      resource: { 'service.name': 'tabbat', 'tabbat.worker': '1' },
    })
    expect(steps.map((step) => step.name)).toEqual(['guard', 'source sandbox', 'commit'])
    expect(line).toMatchObject({ outcome: 'verified', trace_id: request.trace })
  })

  test('of a verification by vendors has every attempt, and goes to vendors that accept it', async () => {
    const seen: Record<string, unknown[]> = { dojah: [], relay: [] }
    const watch = (script: VendorScript): VendorScript => ({
      ...script,
      answer: (request, fault) => {
        if (request.path !== script.tokenPath) seen[script.name]?.push(request.headers.traceparent)
        return script.answer(request, fault)
      },
    })
    const vendors: StandIn[] = await Promise.all([dojah, relay].map((script) => openStandIn(watch(script))))
    const settings = Object.assign({}, ...vendors.map((vendor) => vendor.settings), await createDatabase())
    const order = { TABBAT_NIN_SOURCES: 'dojah,relay', TABBAT_RELAY_TRACEPARENT: 'on' }
    const server = await openServer(collector.url, { ...settings, ...order })
    vendors[0]?.fail('failing')
    const key = bearer(await server.createLiveKey())
    const nin = '73519284650'
    const headers = { ...key, 'idempotency-key': 'a-key' }
    const send = () => server.post(VERIFY, { nin, phone: `0${toPhoneCoreOf(nin)}` }, headers)
    expect([(await send()).status, (await send()).status]).toEqual([200, 200])
    await server.finish()
    await Promise.all(vendors.map((vendor) => vendor.close()))
    const [first, second] = [...Map.groupBy(collector.spans(), ({ trace }) => trace).values()].map(readTrace)
    expect(first?.steps.map((step) => step.name)).toEqual([
      'guard',
      'commit_intent',
      'source dojah',
      'commit_payment',
      'source relay',
      'commit',
    ])
    const [failed, found] = first?.steps.filter(({ name }) => name.startsWith('source')) ?? []
    expect(failed).toMatchObject({
      kind: 3,
      isFailed: true,
      attributes: { 'tabbat.source': 'dojah', 'tabbat.source.result': 'unreachable' },
    })
    expect(found).toMatchObject({ kind: 3, isFailed: false, attributes: { 'tabbat.source.result': 'found' } })
    expect(seen).toEqual({ dojah: [undefined], relay: [`00-${found?.trace}-${found?.id}-01`] })
    expect(second?.steps.map((step) => step.name)).toEqual(['guard', 'idempotency', 'commit'])
  })

  test('and its id in the log show a failure', async () => {
    const server = await openServer(collector.url, await createDatabase())
    const { audit } = server.context
    audit.recordWith = () => Promise.reject(new TypeError('a bug'))
    expect((await server.post(VERIFY, { nin: '12345678901', phone: PHONE })).status).toBe(500)
    const lines = await server.finish()
    const { request, steps } = readTrace(collector.spans())
    expect(request).toMatchObject({ isFailed: true, attributes: { 'error.type': 'internal_error' } })
    expect(steps.at(-1)).toMatchObject({ name: 'commit', isFailed: true })
    const logged = lines.filter(({ event }) => event === 'failure' || event === 'request')
    expect(logged.map(({ trace_id }) => trace_id)).toEqual([request.trace, request.trace])
  })
})

describe('the traceparent of a caller', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const PARENT = '00f067aa0ba902b7'
  const send = async (traceparent: string, settings: Record<string, string> = {}) => {
    const server = await openServer(collector.url, settings)
    const headers = {
      ...bearer(),
      traceparent,
      tracestate: 'vendor=Zzyzxcanary',
      baggage: 'name=Zzyzxcanary',
    }
    await server.post(VERIFY, { nin: '12345678901', phone: PHONE }, headers)
    const lines = await server.finish()
    return lines.find(({ event }) => event === 'request')?.trace_id
  }

  it('is accepted', async () => {
    expect(await send(`00-${TRACE}-${PARENT}-01`)).toBe(TRACE)
    expect(readTrace(collector.spans()).request).toMatchObject({ trace: TRACE, parent: PARENT })
    expect(collector.bytes().includes('Zzyzxcanary')).toBe(false)
  })

  it('decides whether the request is traced, unless the sampler decides alone', async () => {
    expect(await send(`00-${TRACE}-${PARENT}-00`)).toBe(TRACE)
    expect(collector.spans()).toEqual([])
    await send(`00-${TRACE}-${PARENT}-00`, { OTEL_TRACES_SAMPLER: 'always_on' })
    expect(collector.spans()).toHaveLength(4)
  })

  it.each([
    ['no traceparent', 'hello'],
    ['a number of a person as trace id', `00-${'73519284650'.padStart(32, '0')}-${PARENT}-01`],
    ['a phone as span id', `00-${TRACE}-${'8147730921'.padStart(16, '0')}-01`],
    ['two', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`],
  ])('is ignored if it is %s', async (_what, traceparent) => {
    const trace = await send(traceparent)
    expect(trace).toMatch(/^[0-9a-f]{32}$/)
    expect(traceparent).not.toContain(trace)
    expect(readTrace(collector.spans()).request).toMatchObject({ trace, parent: '' })
  })

  it('is ignored without tracecontext in OTEL_PROPAGATORS', async () => {
    expect(await send(`00-${TRACE}-${PARENT}-01`, { OTEL_PROPAGATORS: 'none' })).not.toBe(TRACE)
  })
})

it('only requests of operations are traced', async () => {
  const server = await openServer(collector.url)
  await server.post('/health/live', {})
  await server.post('/nothing/73519284650', {})
  await server.finish()
  expect(collector.spans()).toEqual([])
})

it('no trace id is logged without tracing', async () => {
  const server = await openServer(collector.url, { OTEL_SDK_DISABLED: 'true' })
  await server.post(VERIFY, { nin: '12345678901', phone: PHONE })
  expect(JSON.stringify(await server.finish())).not.toContain('trace_id')
  expect(collector.count()).toBe(0)
})
