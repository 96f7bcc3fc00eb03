import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBlankRecord } from '../../src/contract/record.ts'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { compareTimes, type Pair } from '../timing.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const CORE = '8031234567'
const PHONE = `0${CORE}`
let server: TestApp
let key: string

beforeAll(async () => {
  server = await openTestApp()
  key = await server.createKey({ mode: 'live' })
  const { store, keyring } = server.context
  const keys = keyring()
  const picture = Buffer.alloc(16, 3)
  const nin = (number: string, mediaId: string | null = null) => {
    const record = toNinRecord(number, CORE)
    return sealEntry(keys, 'nin', number, {
      record: { ...record, personal_info: { ...record.personal_info, image_url: '' } },
      mediaId,
    })
  }
  const withPicture = nin('40000000002', picture.toString('hex'))
  const bvn = toBvnRecord('50000000001', CORE)
  await store.registry.save({
    at: Date.now(),
    media: [sealMedia(keys, picture, withPicture.subject, PNG)],
    records: [
      ...Array.from({ length: 40 }, (_each, index) => nin(String(41_000_000_000 + index))),
      nin('40000000001'),
      withPicture,
      sealEntry(keys, 'nin', '40000000003', {
        record: { ...createBlankRecord('nin'), nin_number: '99999999999' },
        mediaId: null,
      }),
      sealEntry(keys, 'bvn', '50000000001', {
        record: { ...bvn, personal_info: { ...bvn.personal_info, phone_number_2: '09012345678' } },
        mediaId: null,
      }),
    ],
  })
})
afterAll(() => server.close())

const verifyNin = (nin: string, phone: string, as = key, headers: Record<string, string> = {}) =>
  server.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: { ...bearer(as), ...headers },
    payload: { nin, phone },
  })

const verifyBvn = (bvn: string, phone: string) =>
  server.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-bvn',
    headers: bearer(key),
    payload: { bvn, phone, amount: '1' },
  })

describe('a live verification', () => {
  it('answers from the registry, masked', async () => {
    const answer = await verifyNin('40000000001', '+234 803 123 4567')
    expect(answer.statusCode).toBe(200)
    expect(answer.json().data).toMatchObject({
      nin_number: '40000000001',
      verification_status: 'VERIFIED',
      personal_info: { phone_number: PHONE, image_url: '' },
      next_of_kin: { firstname: '****' },
    })
  })

  it('matches either phone of a BVN', async () => {
    expect((await verifyBvn('50000000001', PHONE)).statusCode).toBe(200)
    expect((await verifyBvn('50000000001', '09012345678')).statusCode).toBe(200)
    expect((await verifyBvn('50000000001', '09012345679')).json().code).toBe('not_verified')
  })

  it('never returns the record of another person', async () => {
    const answer = await verifyNin('40000000003', PHONE)
    expect([answer.statusCode, answer.json().code]).toEqual([502, 'source_bad_response'])
  })

  it('answers the same bytes to an unknown number and to a phone that differs', async () => {
    const id = { 'x-request-id': 'one-and-the-same' }
    const unknown = await verifyNin('40000000099', PHONE, key, id)
    const differs = await verifyNin('40000000001', '08031234560', key, id)
    const strip = (body: string) => body.replace(/ver_[0-9a-z]{36}/, 'ver_')
    expect([unknown.statusCode, differs.statusCode]).toEqual([422, 422])
    expect(strip(unknown.body)).toBe(strip(differs.body))
  })
})

describe('a picture', () => {
  it('is served at a signed address that expires, and is not stored', async () => {
    const { image_url } = (await verifyNin('40000000002', PHONE)).json().data.personal_info
    const path = new URL(image_url).pathname
    const picture = await server.app.inject({ method: 'GET', url: path })
    expect(picture.statusCode).toBe(200)
    expect(picture.rawPayload.equals(PNG)).toBe(true)
    expect(picture.headers).toMatchObject({ 'content-type': 'image/png', 'cache-control': 'no-store' })
    for (const forged of [
      `${path}x`,
      path.slice(0, -1),
      path.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A')),
      '/media/x',
    ])
      expect((await server.app.inject({ method: 'GET', url: forged })).statusCode).toBe(404)
  })
})

describe('a field policy', () => {
  it('hides more fields, or reveals fields that are hidden by default', async () => {
    const shy = await server.createKey({ mode: 'live', hide: ['religion', 'image_url', 'residential_info'] })
    const bold = await server.createKey({ mode: 'live', reveal: ['next_of_kin'] })
    const hidden = (await verifyNin('40000000002', PHONE, shy)).json().data
    expect(hidden.personal_info).toMatchObject({ religion: '****', image_url: '****' })
    expect(new Set(Object.values(hidden.residential_info))).toEqual(new Set(['****']))
    const shown = (await verifyNin('40000000002', PHONE, bold)).json().data
    expect(shown.next_of_kin.firstname).not.toBe('****')
    expect(shown.indigene_info.place_of_origin).toBe('****')
  })
})

describe('the guess limit', () => {
  it.each(['41000000001', '49999999999'])(
    'allows five failures for %s by one key, then answers 429 without asking',
    async (nin) => {
      const guesser = await server.createKey({ mode: 'live' })
      const codes = []
      for (let guess = 0; guess < 7; guess++)
        codes.push((await verifyNin(nin, `0803123457${guess}`, guesser)).json().code)
      expect(codes).toEqual([...Array(5).fill('not_verified'), ...Array(2).fill('too_many_attempts')])
      const right = await verifyNin(nin, PHONE, guesser)
      expect([right.statusCode, right.json().code]).toEqual([429, 'too_many_attempts'])
      expect(Number(right.headers['retry-after'])).toBeGreaterThan(0)
      expect(right.json().data).toEqual({ request_reference: expect.stringMatching(/^ver_[0-9a-z]{36}$/) })
    },
  )

  it('allows twenty failures by all keys', async () => {
    const codes = []
    for (let guesser = 0; guesser < 5; guesser++) {
      const as = await server.createKey({ mode: 'live' })
      for (let guess = 0; guess < 5; guess++)
        codes.push((await verifyNin('41000000002', `0803123457${guess}`, as)).json().code)
    }
    expect(codes.filter((code) => code === 'not_verified')).toHaveLength(20)
    expect(codes.slice(20)).toEqual(Array(5).fill('too_many_attempts'))
  })

  it('is exact when all guesses come at once', async () => {
    const guesser = await server.createKey({ mode: 'live' })
    const guesses = Array.from({ length: 60 }, (_each, index) =>
      verifyNin('41000000003', `0803123${4600 + index}`, guesser),
    )
    const codes = (await Promise.all(guesses)).map((answer) => answer.json().code)
    expect(codes.filter((code) => code === 'not_verified')).toHaveLength(5)
    expect(codes.filter((code) => code === 'too_many_attempts')).toHaveLength(55)
  })

  it('gives a correct guess among many at once no advantage: it is one of five, or refused', async () => {
    const guesser = await server.createKey({ mode: 'live' })
    const phones = [...Array.from({ length: 40 }, (_each, index) => `0803123${4700 + index}`), PHONE]
    const answers = await Promise.all(phones.map((phone) => verifyNin('41000000004', phone, guesser)))
    const codes = answers.map((answer) => (answer.statusCode === 200 ? 'verified' : answer.json().code))
    expect(codes.filter((code) => code === 'not_verified')).toHaveLength(5)
    expect(codes.at(-1)).toBe('too_many_attempts')
  })

  it('counts identical correct requests at once as one guess', async () => {
    const honest = await server.createKey({ mode: 'live' })
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => verifyNin('41000000005', PHONE, honest)),
    )
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
    for (let time = 0; time < 8; time++)
      expect((await verifyNin('41000000005', PHONE, honest)).statusCode).toBe(200)
  })

  it('stops a key at its number of people per day, in sequence and at once', async () => {
    const harvester = await server.createKey({ mode: 'live', subjectsPerDay: 10 })
    const numbers = Array.from({ length: 30 }, (_each, index) => String(41_000_000_010 + index))
    const answers = await Promise.all(numbers.map((nin) => verifyNin(nin, PHONE, harvester)))
    const served = numbers.filter((_nin, index) => answers[index]?.statusCode === 200)
    expect(served).toHaveLength(10)
    const refused = answers.find(({ statusCode }) => statusCode !== 200)
    expect([refused?.statusCode, refused?.json().code]).toEqual([429, 'quota_exceeded'])
    expect(Number(refused?.headers['retry-after'])).toBeLessThanOrEqual(86_400)
    for (const nin of served) expect((await verifyNin(nin, PHONE, harvester)).statusCode).toBe(200)
  })

  it('does not count in test mode', async () => {
    const codes = []
    for (let guess = 0; guess < 8; guess++)
      codes.push(
        (
          await server.app.inject({
            method: 'POST',
            url: '/api/v2/kyc/verify-nin',
            headers: bearer(),
            payload: { nin: '00000000422', phone: PHONE },
          })
        ).json().code,
      )
    expect(new Set(codes)).toEqual(new Set(['not_verified']))
  })
})

describe('an unknown number and a wrong phone', () => {
  it('cannot be told apart by time (Welch’s t below 4.5)', async () => {
    const keys: string[] = []
    for (let index = 0; index < 24; index++)
      keys.push(await server.createKey({ mode: 'live', subjectsPerDay: 100_000 }))
    const { differ, rounds } = await compareTimes(600, await toPairs(keys))
    expect(differ, JSON.stringify(rounds)).toBe(false)
  })
})

/** Known numbers with a wrong phone, and unknown numbers. */
async function toPairs(keys: readonly string[]): Promise<(index: number) => Pair> {
  const { store, keyring } = server.context
  const toNumber = (index: number) => String(42_000_000_000 + index)
  const records = Array.from({ length: 3000 }, (_each, index) =>
    sealEntry(keyring(), 'nin', toNumber(index), {
      record: toNinRecord(toNumber(index), CORE),
      mediaId: null,
    }),
  )
  await store.registry.save({ at: 0, media: [], records })
  return (index) => {
    const key = keys[index % keys.length]
    return {
      one: () => verifyNin(toNumber(index), '08031234560', key),
      other: () => verifyNin(toNumber(index + 1_000_000_000), '08031234560', key),
    }
  }
}
