import { afterEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { prembly } from '../../src/simulator/prembly.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { youverify } from '../../src/simulator/youverify.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

/** A BVN that Prembly reports as blocked (code 07), and the answer of the next source. */
const BVN = '22345678901'
const OTHER_PHONE = '08021112223'

type Server = TestApp & { readonly first: StandIn; readonly second: StandIn; readonly key: string }
const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** Prembly first, then a vendor whose BVN product has no watch list. */
async function openServer(settings: Record<string, string> = {}, second = youverify): Promise<Server> {
  const [blocking, next] = [await openStandIn(prembly), await openStandIn(second)]
  const server = await openTestApp({
    TABBAT_BVN_SOURCES: `prembly,${second.name}`,
    ...blocking.settings,
    ...next.settings,
    ...settings,
  })
  open.push(blocking, next, server)
  blocking.fail('watchlisted')
  return { ...server, first: blocking, second: next, key: await server.createKey({ mode: 'live' }) }
}

const verify = ({ app, key }: Server, phone = `0${toPhoneCoreOf(BVN)}`, bvn = BVN) =>
  app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-bvn',
    headers: bearer(key),
    payload: { bvn, phone, amount: '100' },
  })

async function attemptsOf({ context }: Server) {
  const rows = await context.store.database.prepare("SELECT sources FROM audit WHERE phase = 'outcome'").all()
  return rows.map(({ sources }) =>
    (JSON.parse(sources as string) as { name: string; result: string }[]).map(
      ({ name, result }) => `${name} ${result}`,
    ),
  )
}

describe('a blocked BVN', () => {
  it('is verified with its flag, although the vendor of the record has no watch list', async () => {
    const server = await openServer()
    const answer = await verify(server)
    expect(answer.statusCode).toBe(200)
    expect(answer.json().data).toMatchObject({ bvn_number: BVN, watchlisted: 'YES' })
    expect(await attemptsOf(server)).toEqual([['prembly watchlisted', 'youverify found']])
  })

  it('is flagged although the other vendor sends NO', async () => {
    const server = await openServer({ TABBAT_DOJAH_BVN_PATH: '/api/v1/kyc/bvn/advance' }, dojah)
    expect((await verify(server)).json().data.watchlisted).toBe('YES')
  })

  it.each(['NONE', 'Not watch-listed'])('is flagged although the other vendor sends %s', async (text) => {
    const server = await openServer({ TABBAT_DOJAH_BVN_PATH: '/api/v1/kyc/bvn/advance' }, dojah)
    const phone_number1 = `0${toPhoneCoreOf(BVN)}`
    const entity = { bvn: BVN, first_name: 'Ada', last_name: 'Obi', phone_number1, watch_listed: text }
    server.second.answerWith({ status: 200, body: { entity } })
    expect((await verify(server)).json().data.watchlisted).toBe('YES')
  })

  it('keeps its flag when the result is reused', async () => {
    const server = await openServer({ TABBAT_REUSE: '24h' })
    await verify(server)
    const again = await verify(server)
    expect(again.json().data.watchlisted).toBe('YES')
    expect(server.first.count()).toBe(1)
  })

  it.each(['stop', 'next'])('is 503 when no source has its record (TABBAT_NOT_FOUND=%s)', async (mode) => {
    const server = await openServer(mode === 'next' ? { TABBAT_NOT_FOUND: 'next' } : {})
    const unknown = '99345678901'
    // The simulated Prembly has no record of this number, so its reply is fixed to "blocked".
    server.first.answerWith({ status: 200, body: { status: false, response_code: '07' } })
    const answer = await verify(server, `0${toPhoneCoreOf(unknown)}`, unknown)
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unavailable'])
    expect(await attemptsOf(server)).toEqual([['prembly watchlisted', 'youverify not_found']])
  })

  it('is 503 when it is the only source, or the other one fails', async () => {
    const alone = await openServer({ TABBAT_BVN_SOURCES: 'prembly' })
    expect((await verify(alone)).statusCode).toBe(503)
    const server = await openServer()
    server.second.fail('malformed_json')
    expect((await verify(server)).statusCode).toBe(503)
  })

  it.each(['stop', 'next'])(
    'is not verified with a phone that the record does not have (TABBAT_NOT_FOUND=%s)',
    async (mode) => {
      const answer = await verify(await openServer({ TABBAT_NOT_FOUND: mode }), OTHER_PHONE)
      expect([answer.statusCode, answer.json().code]).toEqual([422, 'not_verified'])
    },
  )

  it('does not count against the source that reported it', async () => {
    const server = await openServer()
    for (let index = 0; index < 25; index++) {
      const bvn = String(22_000_000_000 + index)
      expect((await verify(server, `0${toPhoneCoreOf(bvn)}`, bvn)).statusCode).toBe(200)
    }
    const ready = await server.app.inject({ method: 'GET', url: '/health/ready' })
    expect(ready.json().sources.prembly).toBe('ok')
  })
})

describe('a record with a failure status', () => {
  it('is a bad response: the next source is called; alone it leads to 502', async () => {
    const [first, second] = [await openStandIn(youverify), await openStandIn(dojah)]
    const settings = { ...first.settings, ...second.settings }
    for (const [order, status] of [
      ['youverify', 502],
      ['youverify,dojah', 200],
    ] as const) {
      const server = await openTestApp({ ...settings, TABBAT_BVN_SOURCES: order })
      open.push(server)
      first.fail('contradictory')
      const key = await server.createKey({ mode: 'live' })
      expect((await verify({ ...server, first, second, key })).statusCode).toBe(status)
    }
    open.unshift(first, second)
  })
})
