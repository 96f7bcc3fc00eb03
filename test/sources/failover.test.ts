import { afterEach, describe, expect, it } from 'vitest'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { CANARY } from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { disableSource, enableSource } from '../../src/sources/kill-switch.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

const NIN = '12345678901'
const phoneOf = (number: string) => `0${toPhoneCoreOf(number)}`
const OTHER_PHONE = '08021112223'

type House = TestApp & { readonly first: StandIn; readonly second: StandIn; readonly key: string }
const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

/** A server that asks Dojah and then Blusalt, both stand-ins on real sockets. */
async function openHouse(settings: Record<string, string> = {}): Promise<House> {
  const first = await openStandIn(dojah)
  const second = await openStandIn(blusalt)
  const server = await openTestApp({
    TABBAT_NIN_SOURCES: 'dojah,blusalt',
    TABBAT_BVN_SOURCES: 'dojah,blusalt',
    ...first.settings,
    ...second.settings,
    ...settings,
  })
  open.push(first, second, server)
  return { ...server, first, second, key: await server.createKey({ mode: 'live' }) }
}

const verify = ({ app, key }: House, nin = NIN, phone = phoneOf(nin), headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: { ...bearer(key), ...headers },
    payload: { nin, phone },
  })

/** The rows of the verification that was answered. */
async function storyOf(
  { context }: House,
  answer: { json: () => { data?: { request_reference?: string } } },
) {
  const rows = await context.store.audit.byReference(answer.json().data?.request_reference ?? '')
  return rows.map(({ phase, outcome, sources }) => ({ phase, outcome, tried: JSON.parse(sources ?? '[]') }))
}
const triedIn = (story: Awaited<ReturnType<typeof storyOf>>) =>
  story.at(-1)?.tried.map(({ name, result }: { name: string; result: string }) => `${name} ${result}`)

describe('two sources', () => {
  it('give the first one’s answer, with the intent before it and the vendor’s reference in the audit', async () => {
    const house = await openHouse()
    const answer = await verify(house)
    expect(answer.statusCode).toBe(200)
    expect(answer.json().data.nin_number).toBe(NIN)
    const story = await storyOf(house, answer)
    expect(story.map(({ phase }) => phase)).toEqual(['intent', 'outcome'])
    expect(story[1]?.tried).toMatchObject([{ name: 'dojah', result: 'found', reference: expect.any(String) }])
    expect(house.second.count()).toBe(0)
  })

  it('serve BVNs alike', async () => {
    const house = await openHouse()
    const answer = await house.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-bvn',
      headers: bearer(house.key),
      payload: { bvn: NIN, phone: phoneOf(NIN), amount: '100' },
    })
    expect(answer.statusCode).toBe(200)
  })

  it('go unnoticed when the first one fails', async () => {
    const house = await openHouse()
    house.first.fail('failing')
    const answer = await verify(house)
    expect(answer.statusCode).toBe(200)
    expect(triedIn(await storyOf(house, answer))).toEqual(['dojah unreachable', 'blusalt found'])
  })

  it('never give the wrong person', async () => {
    const house = await openHouse()
    house.first.fail('wrong_person')
    house.second.fail('wrong_person')
    const answer = await verify(house)
    expect(answer.statusCode).toBe(502)
    expect(answer.json().code).toBe('source_bad_response')
  })

  it('say the same for a wrong phone and for nobody', async () => {
    const house = await openHouse()
    const [wrong, nobody] = [
      await verify(house, NIN, OTHER_PHONE),
      await verify(house, '99345678901', OTHER_PHONE),
    ]
    expect(wrong.statusCode).toBe(422)
    const bare = (text: string) => text.replace(/ver_\w+/, '').replace(/"request_id":"[^"]+"/, '')
    expect(bare(wrong.body)).toBe(bare(nobody.body))
    expect(house.second.count()).toBe(0)
  })

  it('tell a caller nothing of what a vendor said', async () => {
    const house = await openHouse()
    for (const fault of ['failing', 'unauthorised', 'no_funds', 'error_in_200', 'html_with_200'] as const) {
      house.first.fail(fault)
      house.second.fail(fault)
      const answer = await verify(house)
      expect(answer.statusCode).toBeGreaterThanOrEqual(502)
      expect(answer.body).not.toContain(CANARY)
      expect(answer.headers['retry-after']).toBeDefined()
    }
  })

  it('share one question between the same requests at the same time', async () => {
    const house = await openHouse()
    const answers = await Promise.all(Array.from({ length: 8 }, () => verify(house)))
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    expect(house.first.count()).toBe(1)
  })
})

describe('the breaker', () => {
  it('opens when a source keeps failing; then nobody asks it, and readiness says so', async () => {
    const house = await openHouse()
    house.first.fail('failing')
    for (let nin = 20_000_000_000; nin < 20_000_000_020; nin++)
      expect((await verify(house, String(nin))).statusCode).toBe(200)
    const asked = house.first.count()
    const answer = await verify(house)
    expect(triedIn(await storyOf(house, answer))).toEqual(['dojah breaker_open', 'blusalt found'])
    expect(house.first.count()).toBe(asked)
    const ready = await house.app.inject({ method: 'GET', url: '/health/ready' })
    expect(ready.json().sources).toEqual({ dojah: 'degraded', blusalt: 'ok' })
    expect(await house.context.metrics.print()).toMatch(
      /tabbat_source_state\{source="dojah",operation="verify_nin"\} 2/,
    )
  })
})

describe('the kill switch', () => {
  it('stops a source within five seconds, and lets it go on', async () => {
    const house = await openHouse()
    const desk = { table: house.context.store.sources, audit: house.context.audit }
    await disableSource(desk, 'dojah')
    const states = async () =>
      (await house.app.inject({ method: 'GET', url: '/health/ready' })).json().sources.dojah
    await expect.poll(states, { timeout: 5000 }).toBe('disabled')
    const answer = await verify(house)
    expect(triedIn(await storyOf(house, answer))).toEqual(['dojah disabled', 'blusalt found'])
    expect(house.first.count()).toBe(0)
    await enableSource(desk, 'dojah')
    await expect.poll(states, { timeout: 5000 }).toBe('ok')
  })
})

describe('a daily cap on spend', () => {
  it('is kept exactly, however many ask at once, and what is not billed is not counted', async () => {
    const house = await openHouse({ TABBAT_DOJAH_PRICE: '50.50', TABBAT_DOJAH_DAILY_CAP: '505' })
    house.first.fail('unauthorised')
    await verify(house)
    // Nobody waits for a refund to be written.
    await expect
      .poll(() => house.context.sourceChain.listSpend())
      .toMatchObject([
        { name: 'blusalt', calls: 1 },
        { name: 'dojah', calls: 0, kobo: 0 },
      ])
    house.first.fail(undefined)
    const numbers = Array.from({ length: 30 }, (_each, index) => String(30_000_000_000 + index))
    const answers = await Promise.all(numbers.map((nin) => verify(house, nin)))
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    const [, spent] = await house.context.sourceChain.listSpend()
    expect(spent).toEqual({ name: 'dojah', calls: 10, kobo: 50_500 })
    expect(house.first.count()).toBe(11)
  })

  it('leaves 503 when there is no other source', async () => {
    const house = await openHouse({
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_DOJAH_PRICE: '50',
      TABBAT_DOJAH_DAILY_CAP: '50',
    })
    expect((await verify(house)).statusCode).toBe(200)
    const answer = await verify(house, '12345678902')
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unavailable'])
    expect(house.first.count()).toBe(1)
  })
})

describe('TABBAT_NOT_FOUND=next', () => {
  it('asks the next source when the first has nobody, and when it has another phone', async () => {
    const house = await openHouse({ TABBAT_NOT_FOUND: 'next' })
    await verify(house, '99345678901')
    await verify(house, NIN, OTHER_PHONE)
    expect([house.first.count(), house.second.count()]).toEqual([2, 2])
  })

  it('never says "not verified" because a source could not be asked', async () => {
    const house = await openHouse({
      TABBAT_NOT_FOUND: 'next',
      TABBAT_BLUSALT_PRICE: '50',
      TABBAT_BLUSALT_DAILY_CAP: '50',
    })
    expect((await verify(house, '99345678901')).statusCode).toBe(422)
    const answer = await verify(house, '99345678902')
    expect([answer.statusCode, answer.json().code]).toEqual([503, 'source_unavailable'])
  })
})

describe('TABBAT_REUSE', () => {
  it('uses a verified result again, marks it, and asks anew when the caller wants that', async () => {
    const house = await openHouse({ TABBAT_REUSE: '24h' })
    const first = await verify(house)
    const again = await verify(house)
    expect(again.json().data.personal_info).toEqual(first.json().data.personal_info)
    expect(house.first.count()).toBe(1)
    expect(triedIn(await storyOf(house, again))).toEqual(['dojah reused'])
    const fresh = await verify(house, NIN, phoneOf(NIN), { 'cache-control': 'max-age=0, no-cache' })
    expect(fresh.statusCode).toBe(200)
    expect(house.first.count()).toBe(2)
  })

  it('still compares the phone, and asks the source as for a stranger when it differs', async () => {
    const house = await openHouse({ TABBAT_REUSE: '24h' })
    await verify(house)
    const answer = await verify(house, NIN, OTHER_PHONE)
    expect(answer.statusCode).toBe(422)
    expect(house.first.count()).toBe(2)
  })

  it('keeps nothing readable, nothing that was not verified, and nothing by default', async () => {
    const house = await openHouse({ TABBAT_REUSE: '24h' })
    await verify(house)
    await verify(house, '12345678902', OTHER_PHONE)
    const rows = await house.context.store.database.prepare('SELECT * FROM reused_results').all()
    expect(rows).toHaveLength(1)
    const text = Buffer.from(rows[0]?.sealed as Uint8Array).toString('latin1')
    expect(text).not.toContain(NIN)
    const usual = await openHouse()
    await verify(usual)
    expect(await usual.context.store.database.prepare('SELECT * FROM reused_results').all()).toEqual([])
  })

  it('forgets a result that is too old', async () => {
    const house = await openHouse({ TABBAT_REUSE: '1s' })
    await verify(house)
    await expect
      .poll(
        async () => {
          await verify(house)
          return house.first.count()
        },
        { timeout: 5000, interval: 200 },
      )
      .toBeGreaterThan(1)
  })
})
