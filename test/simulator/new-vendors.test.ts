import { createHmac } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { BvnRecord } from '../../src/contract/bvn.ts'
import { NinRecord } from '../../src/contract/nin.ts'
import { korapay } from '../../src/simulator/korapay.ts'
import { monnify } from '../../src/simulator/monnify.ts'
import { mono } from '../../src/simulator/mono.ts'
import { toBvnPerson, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { seamfix } from '../../src/simulator/seamfix.ts'
import { smileid } from '../../src/simulator/smileid.ts'
import { sourceid } from '../../src/simulator/sourceid.ts'
import { openStandIn, type StandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { completeBvn, completeNin } from '../../src/sources/record.ts'
import {
  type Ask,
  askKorapay,
  askMonnify,
  askMono,
  askSeamfix,
  askSmile,
  askSourceid,
  findNin,
  logIn,
  matchBvn,
  postSmile,
  type Reply,
  settingOf,
  toMatchInput,
  toSmileInput,
} from './documented-requests.ts'

/** The simulated vendors against the documents: requests as the documents have them, and answers with the documented fields only. */
const NUMBERS = { nin: '12345678901', bvn: '12345678901', 'virtual-nin': 'AB012345678910YZ' } as const
const UNKNOWNS = { nin: '99345678901', bvn: '99345678901', 'virtual-nin': 'AB992345678910YZ' } as const
type Kind = keyof typeof NUMBERS

type Expected = readonly [status: number, body: object]
type Answers = Readonly<Record<'unknown' | 'malformed' | 'wrongCredentials' | 'noFunds', Expected>>

const korapayAnswers = (title: string): Answers => ({
  unknown: [404, { status: false, message: `${title} not found` }],
  malformed: [400, { status: false, message: `Invalid ${title} format` }],
  wrongCredentials: [401, { status: false }],
  noFunds: [400, { status: false, message: 'Insufficient balance' }],
})
const MONO: Answers = {
  unknown: [404, { status: 'failed', message: 'NIN not found' }],
  malformed: [400, { status: 'failed' }],
  wrongCredentials: [401, { status: 'failed' }],
  noFunds: [402, { status: 'failed' }],
}
const monnifyAnswers = (unknown: string): Answers => ({
  unknown: [400, { requestSuccessful: false, responseCode: '99', responseMessage: unknown }],
  malformed: [400, { requestSuccessful: false }],
  wrongCredentials: [401, { requestSuccessful: false }],
  noFunds: [400, { requestSuccessful: false, responseMessage: 'Insufficient balance' }],
})
const SMILE: Answers = {
  unknown: [200, { ResultCode: '1013', ResultText: 'Unable to Validate ID' }],
  malformed: [200, { ResultCode: '1014' }],
  wrongCredentials: [400, { code: '2204', error: 'unauthorized' }],
  noFunds: [402, { error: 'Insufficient wallet balance' }],
}
const SEAMFIX: Answers = {
  unknown: [200, { responseCode: '00', verificationStatus: 'NOT VERIFIED', response: null }],
  malformed: [400, { verificationStatus: 'PENDING' }],
  wrongCredentials: [401, { verificationStatus: 'PENDING' }],
  noFunds: [200, { verificationStatus: 'PENDING', transactionStatus: 'failed', response: null }],
}
const SOURCEID: Answers = {
  unknown: [404, { status: false, responseCode: '01', message: 'Record not found' }],
  malformed: [400, { status: false }],
  wrongCredentials: [401, { status: false }],
  noFunds: [402, { status: false, responseCode: '03' }],
}

const CASES: readonly (readonly [VendorScript, Kind, Ask, Answers])[] = [
  [korapay, 'nin', askKorapay('nin'), korapayAnswers('NIN')],
  [korapay, 'bvn', askKorapay('bvn'), korapayAnswers('BVN')],
  [korapay, 'virtual-nin', askKorapay('vnin'), korapayAnswers('vNIN')],
  [mono, 'nin', askMono, MONO],
  [monnify, 'nin', findNin, monnifyAnswers('NIN not found')],
  [monnify, 'bvn', matchBvn, monnifyAnswers('Unable to process request. Invalid BVN provided')],
  [smileid, 'nin', askSmile('NIN_V2'), SMILE],
  [smileid, 'bvn', askSmile('BVN'), SMILE],
  [smileid, 'virtual-nin', askSmile('V_NIN'), SMILE],
  [seamfix, 'nin', askSeamfix('NIN-VERIFY'), SEAMFIX],
  [seamfix, 'bvn', askSeamfix('BVN-FULL-DETAILS'), SEAMFIX],
  [seamfix, 'virtual-nin', askSeamfix('V-NIN'), SEAMFIX],
  [sourceid, 'bvn', askSourceid('extended'), SOURCEID],
]

/** The documented answer is the fixture. An error of Smile ID has a shape of its own. */
const readDocument = (vendor: string, kind: Kind): unknown =>
  JSON.parse(readFileSync(`test/sources/${vendor}/${kind}.json`, 'utf8'))
const ERROR_FIELDS: Readonly<Record<string, readonly string[]>> = { smileid: ['code', 'error'] }

/** The paths of all fields. */
function listFields(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    `${path}${name}`,
    ...listFields(inner, `${path}${name}.`),
  ])
}

describe.each(CASES.map((each) => [each[0].name, each[1], each] as const))(
  '%s %s',
  (name, kind, [script, , ask, answers]) => {
    let vendor: StandIn
    beforeAll(async () => {
      vendor = await openStandIn(script)
    })
    afterEach(() => {
      vendor.fail(undefined)
      vendor.refuse(undefined)
      vendor.spellPhones(undefined)
    })
    afterAll(() => vendor.close())

    const NUMBER = NUMBERS[kind]
    const isMatch = name === 'monnify' && kind === 'bvn'
    const documented = [...listFields(readDocument(name, kind)), ...(ERROR_FIELDS[name] ?? [])]
    const find = async (number: string = NUMBER, isKnown = true) => {
      const reply = await ask(vendor, number, isKnown)
      expect(listFields(reply.body).filter((field) => !documented.includes(field))).toEqual([])
      return reply
    }
    const expectReply = ({ status, body }: Reply, [wanted, part]: Expected) => {
      expect(status).toBe(wanted)
      expect(body).toMatchObject(part)
    }

    it('finds a person, with all documented fields and no others', async () => {
      const { status, body } = await find()
      expect(status).toBe(200)
      const errorFields = ERROR_FIELDS[name] ?? []
      expect(listFields(body).toSorted()).toEqual(
        documented.filter((field) => !errorFields.includes(field)).toSorted(),
      )
      const text = JSON.stringify(body).toLowerCase()
      expect(text).toContain(NUMBER.toLowerCase())
      if (isMatch) return
      const { personal_info: info } = kind === 'bvn' ? toBvnPerson(NUMBER) : toNinPerson(NUMBER)
      for (const part of [info.first_name, info.middle_name, info.last_name])
        expect(text).toContain(part.toLowerCase())
      expect(text).toContain(toPhoneCoreOf(NUMBER))
    })

    it('answers for an unknown number, a malformed number and an account without funds', async () => {
      expectReply(await find(UNKNOWNS[kind]), answers.unknown)
      expectReply(await find('1234'), answers.malformed)
      vendor.fail('no_funds')
      expectReply(await find(), answers.noFunds)
    })

    it('refuses wrong credentials', async () => {
      expectReply(await find(NUMBER, false), answers.wrongCredentials)
      vendor.fail('unauthorised')
      expectReply(await find(), answers.wrongCredentials)
    })

    it('gives a text of an error in its own envelope', async () => {
      vendor.refuse(404, 'App not found')
      const { status, body } = await find()
      expect(status).toBe(404)
      expect(Object.values(body)).toContain('App not found')
    })

    it('has a fault of every kind', async () => {
      const complete = await find()
      vendor.fail('error_in_200')
      const failed = await find()
      expect(failed.status).toBe(200)
      expect(JSON.stringify(failed.body)).not.toContain(toPhoneCoreOf(NUMBER))
      vendor.fail('contradictory')
      const contradictory = await find()
      expect(listFields(contradictory.body)).toEqual(listFields(complete.body))
      expect(JSON.stringify(contradictory.body)).not.toBe(JSON.stringify(complete.body))
      vendor.fail('wrong_person')
      expect(JSON.stringify((await find()).body)).not.toContain(`"${NUMBER}"`)
      vendor.fail('missing_fields')
      const sparse = await find()
      expect(JSON.stringify(sparse.body).length).toBeLessThan(JSON.stringify(complete.body).length)
    })

    it('names all its phone fields', async () => {
      vendor.spellPhones(() => 'changed')
      expect(JSON.stringify((await find()).body)).not.toContain(toPhoneCoreOf(NUMBER))
      if (isMatch) return
      expect(JSON.stringify((await find()).body)).toContain('"changed"')
    })
  },
)

const useVendor = (script: VendorScript) => {
  const opened: { vendor?: StandIn } = {}
  beforeAll(async () => {
    opened.vendor = await openStandIn(script)
  })
  afterAll(() => opened.vendor?.close())
  return () => {
    if (!opened.vendor) throw new Error('not open')
    return opened.vendor
  }
}

describe('Smile ID', () => {
  const vendor = useVendor(smileid)
  const toInput = () => toSmileInput(vendor(), 'BVN', NUMBERS.bvn, settingOf(vendor(), 'SMILEID_API_KEY'))

  it.each([
    ['another time than the signed one', { timestamp: '2026-11-17T06:00:00.000Z' }],
    ['another partner', { partner_id: '024' }],
    ['no signature', { signature: undefined }],
  ])('refuses %s', async (_what, change) => {
    expect(await postSmile(vendor(), { ...toInput(), ...change })).toEqual({
      status: 400,
      body: { code: '2204', error: 'unauthorized' },
    })
  })

  it.each([1_763_359_200_000, '1763359200000', '17 Nov 2026', '2026-11-17', undefined])(
    'refuses the time %s, which is not ISO',
    async (timestamp) => {
      const { status, body } = await postSmile(vendor(), { ...toInput(), timestamp })
      expect([status, body.code]).toEqual([400, '2204'])
    },
  )

  it.each(['country', 'id_type', 'id_number', 'partner_params', 'source_sdk', 'source_sdk_version'])(
    'requires %s',
    async (name) => {
      expect(await postSmile(vendor(), { ...toInput(), [name]: undefined })).toMatchObject({
        status: 400,
        body: { code: '2213' },
      })
    },
  )

  it('refuses a second job with the same id, but not one after a request that had no job', async () => {
    const input = toInput()
    const send = async (change: object) => {
      const { status, body } = await postSmile(vendor(), { ...input, ...change })
      return [status, body.code ?? body.ResultCode]
    }
    expect(await send({ signature: 'x' })).toEqual([400, '2204'])
    expect(await send({ id_number: undefined })).toEqual([400, '2213'])
    expect(await send({ id_number: UNKNOWNS.bvn })).toEqual([200, '1013'])
    expect(await send({})).toEqual([400, '2215'])
  })

  it('signs its answers', async () => {
    const { body } = await postSmile(vendor(), toInput())
    const text = `${body.timestamp}${settingOf(vendor(), 'SMILEID_PARTNER_ID')}sid_request`
    const key = settingOf(vendor(), 'SMILEID_API_KEY')
    expect(body.signature).toBe(createHmac('sha256', key).update(text).digest('base64'))
  })
})

describe('Monnify', () => {
  const vendor = useVendor(monnify)
  const match = async (change: object) => {
    const input = { ...toMatchInput(NUMBERS.bvn), ...change }
    return askMonnify(vendor(), 'bvn-details-match', input, true)
  }

  it('issues a token for its keys only, and issues it while look-ups are refused', async () => {
    expect(await logIn(vendor())).toMatchObject({
      status: 200,
      body: { requestSuccessful: true, responseBody: { accessToken: expect.any(String), expiresIn: 3567 } },
    })
    expect(await logIn(vendor(), 'wrong')).toMatchObject({ status: 401, body: { requestSuccessful: false } })
    vendor().refuse(404, 'App not found')
    expect((await logIn(vendor())).status).toBe(200)
    vendor().refuse(undefined)
  })

  it('compares the details of a BVN', async () => {
    const { personal_info: info } = toBvnPerson(NUMBERS.bvn)
    const name = { matchStatus: 'FULL_MATCH', matchPercentage: 100 }
    const matching = { bvn: NUMBERS.bvn, name, dateOfBirth: 'FULL_MATCH', mobileNo: 'FULL_MATCH' }
    const cases: readonly (readonly [change: object, differing: object])[] = [
      [{}, {}],
      [{ mobileNo: `234${toPhoneCoreOf(NUMBERS.bvn)}` }, {}],
      [
        { name: `${info.last_name} ${info.first_name}` },
        { name: { matchStatus: 'PARTIAL_MATCH', matchPercentage: 66 } },
      ],
      [{ name: 'Somebody Else' }, { name: { matchStatus: 'NO_MATCH', matchPercentage: 0 } }],
      [{ dateOfBirth: '01-Jan-1950' }, { dateOfBirth: 'NO_MATCH' }],
      [{ mobileNo: '08021112223' }, { mobileNo: 'NO_MATCH' }],
    ]
    for (const [change, differing] of cases)
      expect((await match(change)).body.responseBody).toEqual({ ...matching, ...differing })
  })

  it.each([{ name: undefined }, { dateOfBirth: '1990-01-05' }, { mobileNo: '' }])(
    'refuses a match with %j',
    async (change) => {
      expect((await match(change)).status).toBe(400)
    },
  )
})

describe('SourceID', () => {
  const vendor = useVendor(sourceid)

  it('has neither the number nor a phone at the basic level', async () => {
    const { status, body } = await askSourceid('basic')(vendor(), NUMBERS.bvn, true)
    expect(status).toBe(200)
    expect(Object.keys(body.data as object)).toEqual(['firstName', 'lastName', 'middleName', 'dateOfBirth'])
  })
})

describe.each([
  [korapay, askKorapay('bvn'), { data: { watch_listed: 'YES' } }],
  [seamfix, askSeamfix('BVN-FULL-DETAILS'), { response: { watchlisted: true } }],
  [sourceid, askSourceid('extended'), { data: { watchListed: 'YES' } }],
] as const)('$name', (script, ask, flag) => {
  const vendor = useVendor(script)

  it('reports a BVN on a watch list', async () => {
    expect((await ask(vendor(), NUMBERS.bvn, true)).body).not.toMatchObject(flag)
    vendor().fail('watchlisted')
    expect((await ask(vendor(), NUMBERS.bvn, true)).body).toMatchObject(flag)
  })
})

describe('the expected record', () => {
  const ajv = new Ajv({ strict: false })
  const [isNinRecord, isBvnRecord] = [ajv.compile(NinRecord), ajv.compile(BvnRecord)]

  it.each(globSync('test/sources/*/*.expected.json'))(
    '%s has the shape and spelling of the contract',
    (file) => {
      const record = JSON.parse(readFileSync(file, 'utf8'))
      const isBvn = file.endsWith('/bvn.expected.json')
      const fits = isBvn ? isBvnRecord : isNinRecord
      expect(fits(record), JSON.stringify(fits.errors)).toBe(true)
      expect(isBvn ? completeBvn(record) : completeNin(record)).toEqual(record)
    },
  )
})
