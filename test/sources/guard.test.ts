import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { prembly } from '../../src/simulator/prembly.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import type { VendorScript } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import type { Source } from '../../src/sources/source.ts'
import { SHIPPED_VENDORS, type VendorInUse } from '../../src/sources/vendors.ts'

/** The rules of openVendor, which hold for every vendor. */
const NIN = '12345678901'
const PHONE = '8031234567'
const newCall = (signal: AbortSignal = AbortSignal.timeout(60_000)) => ({ signal, reference: 'ver_test' })

const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function openServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push({
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function openSource(
  { name, settings }: VendorScript,
  answer: RequestListener,
  { attemptMs = 60_000, values = {} } = {},
): Promise<Source> {
  const url = await openServer(answer)
  const { vendors } = loadConfig(settings(url), '')
  const changed = { ...vendors, [name]: { ...vendors[name], ...values } as VendorInUse }
  const source = await openVendor(name, { vendors: changed, allowPrivate: false, attemptMs })
  open.push({ close: async () => source.close?.() })
  return source
}

const replyWith =
  (body: unknown, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status).end(JSON.stringify(body))

const find = (source: Source, call = newCall()) => source.findNin?.({ nin: NIN, phone: PHONE }, call)

describe('an incomplete record', () => {
  it.each([
    ['without any name', { nin: NIN, telephone: `0${PHONE}` }, 'unknown_shape'],
    ['without number and phone', { first_name: 'ADA' }, 'no_phone'],
    ['without a phone', { nin: NIN, first_name: 'ADA' }, 'no_phone'],
    ['with a hidden phone', { nin: NIN, first_name: 'ADA', telephone: '****' }, 'unreadable_phone'],
  ])('is a bad response: %s', async (_what, entity, problem) => {
    const source = await openSource(dojah, replyWith({ entity }))
    await expect(find(source)).rejects.toMatchObject({ reason: 'bad_response', problem })
  })

  it('is accepted with one name and the phone', async () => {
    const entity = { surname: 'OBI', telephone: `0${PHONE}` }
    expect((await find(await openSource(dojah, replyWith({ entity }))))?.found).toBe(true)
  })

  it('of Prembly, which sends null for the NIN, needs a phone too', async () => {
    const verification = { status: 'VERIFIED', reference: 'r1' }
    const reply = (data: object) =>
      replyWith({ response_code: '00', verification, data: { nin: null, ...data } })
    const complete = await openSource(prembly, reply({ firstname: 'ADA', telephoneno: `0${PHONE}` }))
    expect((await find(complete))?.found).toBe(true)
    const incomplete = await openSource(prembly, reply({ firstname: 'ADA' }))
    await expect(find(incomplete)).rejects.toMatchObject({ problem: 'no_phone' })
  })
})

it('an unexpected error in the code of a vendor is a bad response, and does not stop the search', async () => {
  const findNin = () => Promise.reject(new TypeError('a defect'))
  const load = async () => ({ create: () => ({ name: 'blusalt', findNin }) })
  const values = { vendor: { ...SHIPPED_VENDORS.get('blusalt'), load } }
  const source = await openSource(blusalt, replyWith({}), { values })
  await expect(find(source)).rejects.toMatchObject({ reason: 'bad_response', problem: 'unknown_shape' })
})

it('an error of the kind 400, 404 or 422 may be about one person, any other counts against the source', async () => {
  for (const status of [400, 422]) {
    const source = await openSource(dojah, replyWith({ error: 'nin must be 11 digits' }, status))
    await expect(find(source)).rejects.toMatchObject({ reason: 'bad_response', fault: 'request' })
    const odd = await openSource(dojah, replyWith({ error: 'x' }, status))
    await expect(find(odd)).rejects.toMatchObject({ reason: 'bad_response', fault: 'request' })
  }
  const lost = await openSource(dojah, replyWith({ error: 'Not Found' }, 404))
  await expect(find(lost)).rejects.toMatchObject({ reason: 'bad_response', fault: 'request' })
  const unpaid = await openSource(dojah, replyWith({ error: 'x' }, 402))
  await expect(find(unpaid)).rejects.toMatchObject({ reason: 'refused', fault: 'source' })
})

describe('the time limit of one call', () => {
  const slowly =
    (ms: number): RequestListener =>
    async ({ url }, response) => {
      await pause(ms)
      const isToken = url?.endsWith('/token')
      response.writeHead(isToken ? 200 : 401).end(JSON.stringify({ accessToken: 'x', expiresIn: 7200 }))
    }

  it('covers all requests: token, look-up, second token, repeated look-up', async () => {
    const source = await openSource(qoreid, slowly(150), { attemptMs: 400 })
    // Each request alone is within the limit: the last answer would be 401.
    await expect(find(source)).rejects.toMatchObject({ reason: 'timeout', fault: 'source' })
  })

  it('counts against the source, but the deadline of the caller does not', async () => {
    const hanging = await openSource(dojah, () => {}, { attemptMs: 100 })
    await expect(find(hanging)).rejects.toMatchObject({ reason: 'timeout', fault: 'source' })
    // The vendor has the request: the time of the caller is over then, however long that took.
    const deadline = new AbortController()
    const patient = await openSource(dojah, () => deadline.abort())
    const answer = find(patient, newCall(deadline.signal))
    await expect(answer).rejects.toMatchObject({ reason: 'timeout', fault: 'deadline', sent: true })
  })

  it('that ends while a token is fetched is not paid for', async () => {
    const source = await openSource(qoreid, () => {})
    const answer = find(source, newCall(AbortSignal.timeout(100)))
    await expect(answer).rejects.toMatchObject({ reason: 'timeout', fault: 'deadline', sent: false })
  })
})
