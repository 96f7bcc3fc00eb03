import { afterEach, describe, expect, it } from 'vitest'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { CANARY } from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { disableSource, enableSource } from '../../src/sources/source-control.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

const NIN = '12345678901'
const phoneOf = (number: string) => `0${toPhoneCoreOf(number)}`
const OTHER_PHONE = '08021112223'

type SourcesServer = TestApp & { readonly first: StandIn; readonly second: StandIn; readonly key: string }
const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** A server with the sources Dojah and Blusalt, both simulated on real sockets. */
async function openServer(settings: Record<string, string> = {}): Promise<SourcesServer> {
  const first = await openStandIn(dojah)
  const second = await openStandIn(blusalt)
  const app = await openTestApp({
    TABBAT_NIN_SOURCES: 'dojah,blusalt',
    TABBAT_BVN_SOURCES: 'dojah,blusalt',
    ...first.settings,
    ...second.settings,
    ...settings,
  })
  open.push(first, second, app)
  return { ...app, first, second, key: await app.createKey({ mode: 'live' }) }
}

const verify = (
  { app, key }: SourcesServer,
  nin = NIN,
  phone = phoneOf(nin),
  headers: Record<string, string> = {},
) =>
  app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: { ...bearer(key), ...headers },
    payload: { nin, phone },
  })

/** The audit rows of a verification. */
async function readTimeline(
  { context }: SourcesServer,
  answer: { json: () => { data?: { request_reference?: string } } },
) {
  const rows = await context.store.audit.byReference(answer.json().data?.request_reference ?? '')
  return rows.map(({ phase, outcome, sources }) => ({
    phase,
    outcome,
    attempts: JSON.parse(sources ?? '[]'),
  }))
}
const listAttempts = (timeline: Awaited<ReturnType<typeof readTimeline>>) =>
  timeline.at(-1)?.attempts.map(({ name, result }: { name: string; result: string }) => `${name} ${result}`)

describe('two sources', () => {
  it('return the answer of the first, with an intent and the vendor’s reference in the audit log', async () => {
    const server = await openServer()
    const answer = await verify(server)
    expect(answer.statusCode).toBe(200)
    expect(answer.json().data.nin_number).toBe(NIN)
    const timeline = await readTimeline(server, answer)
    expect(timeline.map(({ phase }) => phase)).toEqual(['intent', 'outcome'])
    expect(timeline[1]?.attempts).toMatchObject([
      { name: 'dojah', result: 'found', reference: expect.any(String) },
    ])
    expect(server.second.count()).toBe(0)
  })

  it('verify BVNs too', async () => {
    const server = await openServer()
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-bvn',
      headers: bearer(server.key),
      payload: { bvn: NIN, phone: phoneOf(NIN), amount: '100' },
    })
    expect(answer.statusCode).toBe(200)
  })

  it('return the answer of the second when the first fails', async () => {
    const server = await openServer()
    server.first.fail('failing')
    const answer = await verify(server)
    expect(answer.statusCode).toBe(200)
    expect(listAttempts(await readTimeline(server, answer))).toEqual(['dojah unreachable', 'blusalt found'])
  })

  it('never return the wrong person', async () => {
    const server = await openServer()
    server.first.fail('wrong_person')
    server.second.fail('wrong_person')
    const answer = await verify(server)
    expect(answer.statusCode).toBe(502)
    expect(answer.json().code).toBe('source_bad_response')
  })

  it('return the same answer for a wrong phone and for an unknown person', async () => {
    const server = await openServer()
    const [wrong, unknown] = [
      await verify(server, NIN, OTHER_PHONE),
      await verify(server, '99345678901', OTHER_PHONE),
    ]
    expect(wrong.statusCode).toBe(422)
    const bare = (text: string) => text.replace(/ver_\w+/, '').replace(/"request_id":"[^"]+"/, '')
    expect(bare(wrong.body)).toBe(bare(unknown.body))
    expect(server.second.count()).toBe(0)
  })

  it('disclose no text of a vendor to the caller', async () => {
    const server = await openServer()
    for (const fault of ['failing', 'unauthorised', 'no_funds', 'error_in_200', 'html_with_200'] as const) {
      server.first.fail(fault)
      server.second.fail(fault)
      const answer = await verify(server)
      expect(answer.statusCode).toBeGreaterThanOrEqual(502)
      expect(answer.body).not.toContain(CANARY)
      expect(answer.headers['retry-after']).toBeDefined()
    }
  })

  it('share one call among identical concurrent requests', async () => {
    const server = await openServer()
    const answers = await Promise.all(Array.from({ length: 8 }, () => verify(server)))
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    expect(server.first.count()).toBe(1)
  })
})

describe('the breaker', () => {
  it('opens when a source keeps failing: the source is not called, and readiness shows it', async () => {
    const server = await openServer()
    server.first.fail('failing')
    for (let nin = 20_000_000_000; nin < 20_000_000_020; nin++)
      expect((await verify(server, String(nin))).statusCode).toBe(200)
    const calls = server.first.count()
    const answer = await verify(server)
    expect(listAttempts(await readTimeline(server, answer))).toEqual(['dojah breaker_open', 'blusalt found'])
    expect(server.first.count()).toBe(calls)
    const ready = await server.app.inject({ method: 'GET', url: '/health/ready' })
    expect(ready.json().sources).toEqual({ dojah: 'degraded', blusalt: 'ok' })
    expect(await server.context.metrics.print()).toMatch(
      /tabbat_source_state\{source="dojah",operation="verify_nin"\} 2/,
    )
  })
})

describe('the kill switch', () => {
  it('disables a source within five seconds, and enables it again', async () => {
    const server = await openServer()
    const deps = { table: server.context.store.sources, audit: server.context.audit }
    await disableSource(deps, 'dojah')
    const states = async () =>
      (await server.app.inject({ method: 'GET', url: '/health/ready' })).json().sources.dojah
    await expect.poll(states).toBe('disabled')
    const answer = await verify(server)
    expect(listAttempts(await readTimeline(server, answer))).toEqual(['dojah disabled', 'blusalt found'])
    expect(server.first.count()).toBe(0)
    await enableSource(deps, 'dojah')
    await expect.poll(states).toBe('ok')
  })
})

describe('a daily cap on spend', () => {
  it('is exact with concurrent requests, and does not count calls that are not billed', async () => {
    const server = await openServer({ TABBAT_DOJAH_PRICE: '50.50', TABBAT_DOJAH_DAILY_CAP: '505' })
    server.first.fail('unauthorised')
    await verify(server)
    // Refunds are written in the background.
    await expect
      .poll(() => server.context.sourceChain.listSpend())
      .toMatchObject([
        { name: 'blusalt', calls: 1 },
        { name: 'dojah', calls: 0, kobo: 0 },
      ])
    server.first.fail(undefined)
    const numbers = Array.from({ length: 30 }, (_each, index) => String(30_000_000_000 + index))
    const answers = await Promise.all(numbers.map((nin) => verify(server, nin)))
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    const [, spent] = await server.context.sourceChain.listSpend()
    expect(spent).toEqual({ name: 'dojah', calls: 10, kobo: 50_500 })
    expect(server.first.count()).toBe(11)
  })

  it('leads to 503 when there is no other source', async () => {
    const server = await openServer({
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_DOJAH_PRICE: '50',
      TABBAT_DOJAH_DAILY_CAP: '50',
    })
    expect((await verify(server)).statusCode).toBe(200)
    const answer = await verify(server, '12345678902')
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unavailable'])
    expect(server.first.count()).toBe(1)
  })
})

describe('TABBAT_NOT_FOUND=next', () => {
  it('calls the next source after not found and after another phone', async () => {
    const server = await openServer({ TABBAT_NOT_FOUND: 'next' })
    await verify(server, '99345678901')
    await verify(server, NIN, OTHER_PHONE)
    expect([server.first.count(), server.second.count()]).toEqual([2, 2])
  })

  it('never answers "not verified" when a source was skipped', async () => {
    const server = await openServer({
      TABBAT_NOT_FOUND: 'next',
      TABBAT_BLUSALT_PRICE: '50',
      TABBAT_BLUSALT_DAILY_CAP: '50',
    })
    expect((await verify(server, '99345678901')).statusCode).toBe(422)
    const answer = await verify(server, '99345678902')
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unavailable'])
  })
})

describe('TABBAT_REUSE', () => {
  it('reuses a verified result, records that, and calls the source again on request', async () => {
    const server = await openServer({ TABBAT_REUSE: '24h' })
    const first = await verify(server)
    const again = await verify(server)
    expect(again.json().data.personal_info).toEqual(first.json().data.personal_info)
    expect(server.first.count()).toBe(1)
    expect(listAttempts(await readTimeline(server, again))).toEqual(['dojah reused'])
    const fresh = await verify(server, NIN, phoneOf(NIN), { 'cache-control': 'max-age=0, no-cache' })
    expect(fresh.statusCode).toBe(200)
    expect(server.first.count()).toBe(2)
  })

  it('still compares the phone, and calls the source when it differs', async () => {
    const server = await openServer({ TABBAT_REUSE: '24h' })
    await verify(server)
    const answer = await verify(server, NIN, OTHER_PHONE)
    expect(answer.statusCode).toBe(422)
    expect(server.first.count()).toBe(2)
  })

  it('stores sealed, verified results only, and none by default', async () => {
    const server = await openServer({ TABBAT_REUSE: '24h' })
    await verify(server)
    await verify(server, '12345678902', OTHER_PHONE)
    const rows = await server.context.store.database.prepare('SELECT * FROM reused_results').all()
    expect(rows).toHaveLength(1)
    const text = Buffer.from(rows[0]?.sealed as Uint8Array).toString('latin1')
    expect(text).not.toContain(NIN)
    const usual = await openServer()
    await verify(usual)
    expect(await usual.context.store.database.prepare('SELECT * FROM reused_results').all()).toEqual([])
  })

  it('does not reuse a result that is too old', async () => {
    const server = await openServer({ TABBAT_REUSE: '1s' })
    await verify(server)
    await expect
      .poll(
        async () => {
          await verify(server)
          return server.first.count()
        },
        { interval: 200 },
      )
      .toBeGreaterThan(1)
  })
})
