import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readShippedFolder } from '../../src/catalogue/catalogue.ts'
import { loadConfig } from '../../src/context/config.ts'
import type { CatalogueFiles } from '../../src/contract/bundles.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { toBvnPerson, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import type { Source, SourceError } from '../../src/sources/source.ts'
import { openTestApp, type TestApp } from '../app.ts'

/** The relay source against a real Tabbat server on a real port. */
let server: TestApp
let source: Source
let address: string

const open = (url: string, key: string): Promise<Source> => {
  const settings = { TABBAT_RELAY_URL: url, TABBAT_RELAY_KEY: key, TABBAT_NIN_SOURCES: 'relay' }
  const { vendors } = loadConfig(settings, '')
  return openVendor('relay', { vendors, allowPrivate: false })
}

beforeAll(async () => {
  server = await openTestApp()
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  address = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`
  source = await open(`${address}/api/v2`, SANDBOX_KEY)
})
afterAll(async () => {
  await source.close?.()
  await server.close()
})

const NUMBER = '12345678901'
const PHONE = toPhoneCoreOf(NUMBER)
const newCall = () => ({ signal: AbortSignal.timeout(60_000), reference: 'ver_test' })

const findNin = (number: string, phone = PHONE, from = source) =>
  from.findNin?.({ nin: number, phone }, newCall())
const findBvn = (number: string, phone = PHONE, from = source) =>
  from.findBvn?.({ bvn: number, phone }, newCall())

const failureOf = async (answer: Promise<unknown> | undefined): Promise<Partial<SourceError>> => {
  const error = await answer?.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return error as SourceError
}

it('finds a NIN, with masked values as that server sent them, and without the picture', async () => {
  const answer = await findNin(NUMBER)
  if (!answer?.found) throw new Error('not found')
  const person = toNinPerson(NUMBER)
  const hidden = Object.fromEntries(
    Object.entries(person.next_of_kin).map(([field, value]) => [field, value === '' ? '' : '****']),
  )
  expect(answer.record).toEqual({
    ...person,
    personal_info: { ...person.personal_info, image_url: '' },
    next_of_kin: hidden,
    indigene_info: { ...person.indigene_info, place_of_origin: '****' },
  })
  expect(answer.reference).toMatch(/^ver_/)
})

it('finds a BVN', async () => {
  const answer = await findBvn(NUMBER)
  if (!answer?.found) throw new Error('not found')
  expect(answer.record).toEqual(toBvnPerson(NUMBER))
  expect(answer.reference).toMatch(/^ver_/)
})

it('fetches the lists, with the same key', async () => {
  const current = readShippedFolder()
  const fetched = await source.fetchCatalogue?.(current, newCall())
  const codes = (files: CatalogueFiles | undefined) => [
    files?.internet.map(({ segment, bundles }) => [segment, bundles.map(({ code }) => code)]),
    files?.tv.map(({ type, products }) => [type, products.map(({ code }) => code)]),
  ]
  expect(codes(fetched)).toEqual(codes(current))
})

describe.each([
  ['nin', findNin],
  ['bvn', findBvn],
] as const)('%s', (_kind, find) => {
  it('accepts long names, and rejects a record without any name', async () => {
    expect((await find('00000000003'))?.found).toBe(true)
    expect(await failureOf(find('00000000001'))).toMatchObject({ reason: 'bad_response' })
  })

  it('is not found after not_verified: unknown person, or another phone', async () => {
    const notFound = { found: false, reference: expect.stringMatching(/^ver_/) }
    expect(await find('00000000422')).toEqual(notFound)
    expect(await find(NUMBER, '8000000000')).toEqual(notFound)
  })

  it.each([
    ['00000000429', 'throttled', 'too_many'],
    ['00000000502', 'unreachable', 'vendor_failed'],
    ['00000000503', 'unreachable', 'vendor_down'],
    ['00000000504', 'timeout', 'too_slow'],
  ])('%s is %s', async (number, reason, problem) => {
    expect(await failureOf(find(number))).toMatchObject({ reason, problem, sent: true })
  })

  it('is refused with a wrong key, or a key without the scope', async () => {
    for (const key of ['tbt_test_wrong', await server.createKey({ scopes: ['catalogue:read'] })]) {
      const refused = await open(`${address}/api/v2`, key)
      expect(await failureOf(find(NUMBER, PHONE, refused))).toMatchObject({
        reason: 'refused',
        problem: 'credentials',
      })
      await refused.close?.()
    }
  })

  it('is a bad response at a wrong address, and never "not found"', async () => {
    const misdirected = await open(`${address}/api/v1`, SANDBOX_KEY)
    expect(await failureOf(find(NUMBER, PHONE, misdirected))).toMatchObject({ reason: 'bad_response' })
    await misdirected.close?.()
  })
})
