import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BvnRecord } from '../../../src/contract/bvn.ts'
import { NinRecord } from '../../../src/contract/nin.ts'
import { AppError } from '../../../src/errors.ts'
import { toBvnRecord } from '../../../src/sources/sandbox/bvn-record.ts'
import { createSandboxSource } from '../../../src/sources/sandbox/index.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'
import { SourceError } from '../../../src/sources/source.ts'

const ajv = new Ajv({ strict: false })
const isNinRecord = ajv.compile(NinRecord)
const isBvnRecord = ajv.compile(BvnRecord)

const PHONE = '8031234567'
const call = { signal: new AbortController().signal, reference: 'ver_test' }
const source = createSandboxSource()
const findNin = async (nin: string, phone = PHONE) => source.findNin?.({ nin, phone }, call)
const findBvn = async (bvn: string, phone = PHONE) => source.findBvn?.({ bvn, phone }, call)

async function ninRecord(nin: string, phone = PHONE) {
  const answer = await findNin(nin, phone)
  if (!answer?.found) throw new Error('not found')
  expect(isNinRecord(answer.record)).toBe(true)
  return answer.record
}

async function bvnRecord(bvn: string, phone = PHONE) {
  const answer = await findBvn(bvn, phone)
  if (!answer?.found) throw new Error('not found')
  expect(isBvnRecord(answer.record)).toBe(true)
  return answer.record
}

test('the source is called sandbox', () => {
  expect(source.name).toBe('sandbox')
})

describe.each([
  ['NIN', findNin],
  ['BVN', findBvn],
])('the outcomes of a %s', (_, find) => {
  test('00000000422 is not found', async () => {
    expect(await find('00000000422')).toEqual({ found: false })
  })

  test('00000000429 is rate limited', async () => {
    const failure = await find('00000000429').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AppError)
    expect(failure).toMatchObject({ code: 'rate_limited' })
  })

  test.each([
    ['00000000502', 'bad_response'],
    ['00000000503', 'unreachable'],
    ['00000000504', 'timeout'],
  ])('%s fails as %s', async (number, reason) => {
    const failure = await find(number).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(SourceError)
    expect(failure).toMatchObject({ source: 'sandbox', reason })
  })

  test.each(['00000000000', '00000000004', '00000000200', '00000000500', '00000000999', '12345678901'])(
    '%s is an ordinary person',
    async (number) => {
      expect(await find(number)).toMatchObject({ found: true })
    },
  )
})

describe('00000000001', () => {
  test('is a NIN with nothing but its number and phone', async () => {
    const record = await ninRecord('00000000001')
    expect(record.nin_number).toBe('00000000001')
    expect(record.personal_info.phone_number).toBe('08031234567')
    expect(filledFields(record)).toEqual(['nin_number', 'phone_number'])
  })

  test('is a BVN with nothing but its number and phone, and null where null may be', async () => {
    const record = await bvnRecord('00000000001')
    expect(filledFields(record)).toEqual(['bvn_number', 'phone_number'])
    expect(record).toMatchObject({
      formatted_registration_date: null,
      watchlisted: null,
      personal_info: { phone_number_2: null },
    })
  })

  test('does not have the mismatch phone either', async () => {
    expect((await ninRecord('00000000001', '8000000000')).personal_info.phone_number).not.toBe('08000000000')
    expect((await bvnRecord('00000000001', '8000000000')).personal_info.phone_number).not.toBe('08000000000')
  })
})

describe('00000000002', () => {
  test('is a BVN on the watch list', async () => {
    expect(await bvnRecord('00000000002')).toEqual({
      ...toBvnRecord('00000000002', PHONE),
      watchlisted: 'YES',
    })
  })

  test('is an ordinary NIN', async () => {
    expect(await ninRecord('00000000002')).toEqual(toNinRecord('00000000002', PHONE))
  })
})

describe('00000000003', () => {
  test('has the same long and accented names as a NIN and as a BVN', async () => {
    const nin = await ninRecord('00000000003')
    const bvn = await bvnRecord('00000000003')
    const name = nin.personal_info.full_name
    expect(bvn.personal_info.full_name).toBe(name)
    expect(name).toMatch(/[^\p{ASCII}]/u)
    expect(name).toBe(name.normalize('NFC'))
    expect(name.length).toBeGreaterThan(60)
    expect(nin.residential_info.address.length).toBeGreaterThan(120)
    expect(bvn.residential_info.residential_address).toBe(nin.residential_info.address)
  })

  test('still has a title, a gender and a portrait that fit', async () => {
    const { personal_info: info } = await ninRecord('00000000003')
    expect(info).toMatchObject({ title: 'Mr', gender: 'm', maiden_name: '' })
    expect(info.image_url).toMatch(/^\/media\/sandbox\/m-/)
  })
})

test('every other number is the person derived from it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^[1-9][0-9]{10}$/), async (number) => {
      expect(await findNin(number)).toEqual({ found: true, record: toNinRecord(number, PHONE) })
      expect(await findBvn(number)).toEqual({ found: true, record: toBvnRecord(number, PHONE) })
    }),
  )
})

const filledFields = (record: object): string[] =>
  Object.entries(record).flatMap(([field, value]) => {
    if (typeof value === 'object' && value !== null) return filledFields(value)
    return value === '' || value === null ? [] : [field]
  })
