import { Ajv } from 'ajv'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { BvnRecord } from '../../src/contract/bvn.ts'
import { NinRecord } from '../../src/contract/nin.ts'
import { CANARY, type Fault, prepareFault, SERVER_FAILURES, SLOW } from '../../src/simulator/faults.ts'
import { toBvnPerson, toNinBehind, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { type Source, SourceError, type SourceFailure } from '../../src/sources/source.ts'
import { hasNameParts, isMatchOnly, kindsOf, toNeededDetails } from './identity-vendors.ts'

// Before connections are opened: on a busy machine it takes seconds, and connections that are idle for so long end.
prepareFault('gzip_bomb')

/** Tests for every vendor: the same faults over real sockets, from a simulated vendor. See also contract-answers.test.ts. */
const NUMBERS = { nin: '12345678901', vnin: 'AB012345678910YZ', bvn: '12345678901' } as const
const UNKNOWNS = { nin: '99345678901', vnin: 'AB992345678910YZ', bvn: '99345678901' } as const
const ACCEPT_VIRTUAL_NINS: readonly string[] = [
  'dojah',
  'prembly',
  'youverify',
  'qoreid',
  'korapay',
  'smileid',
  'seamfix',
]
const OTHER_PHONE = '8021112223'
/** Another number than the requested one. */
const OTHER = '88345678901'

/** The failure reason of each fault. */
const EXPECTED: Readonly<Partial<Record<Fault, SourceFailure>>> = {
  ...SERVER_FAILURES,
  contradictory: 'bad_response',
  wrong_person: 'bad_response',
  unauthorised: 'refused',
  no_funds: 'refused',
}

const ajv = new Ajv({ strict: false })
const isNinRecord = ajv.compile(NinRecord)
const isBvnRecord = ajv.compile(BvnRecord)

/** The default BVN products of these vendors have no watch list. */
const WITHOUT_WATCH_LIST: readonly string[] = ['dojah', 'qoreid', 'monnify', 'smileid']

const newCall = (signal: AbortSignal = AbortSignal.timeout(60_000)) => ({ signal, reference: 'ver_test' })

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  let vendor: StandIn
  let source: Source
  /** With a short time limit, for the faults that hang. */
  let impatient: Source
  beforeAll(async () => {
    vendor = await openStandIn(script)
    source = await openSource(20_000)
    impatient = await openSource(150)
    // Fetches a token, where one is needed, before anything hangs.
    await find.nin(NUMBERS.nin, OTHER_PHONE, impatient)?.catch(() => {})
    await find.bvn(NUMBERS.bvn, OTHER_PHONE, impatient)?.catch(() => {})
  })
  const openSource = (attemptMs: number) => {
    const { vendors } = loadConfig(vendor.settings, '')
    return openVendor(name, { vendors, allowPrivate: false, attemptMs })
  }
  afterEach(() => {
    vendor.fail(undefined)
    vendor.alter(undefined)
    vendor.refuse(undefined)
  })
  afterAll(async () => {
    await source.close?.()
    await impatient.close?.()
    await vendor.close()
  })

  const findNin = (number: string, phone: string, by = source, call = newCall()) =>
    by.findNin?.({ nin: number, phone, details: toNeededDetails(by, 'nin', number) }, call)
  const find = {
    nin: findNin,
    vnin: findNin,
    bvn: (number: string, phone: string, by = source, call = newCall()) =>
      by.findBvn?.({ bvn: number, phone, details: toNeededDetails(by, 'bvn', number) }, call),
  }

  const kinds = (['nin', 'vnin', 'bvn'] as const).filter((kind) =>
    kind === 'vnin' ? ACCEPT_VIRTUAL_NINS.includes(name) : kindsOf(name).includes(kind),
  )

  it('declares whether it accepts a virtual NIN', () => {
    expect(source.acceptsVirtualNin ?? false).toBe(ACCEPT_VIRTUAL_NINS.includes(name))
  })

  describe.each(kinds)('%s', (kind) => {
    const findIt = find[kind]
    const NUMBER = NUMBERS[kind]
    const UNKNOWN = UNKNOWNS[kind]
    const PHONE = toPhoneCoreOf(NUMBER)
    const detailed = kind === 'bvn' ? 'bvn' : 'nin'
    const isMatch = isMatchOnly(name, detailed)
    /** The vendor gives or compares the names as one text. */
    const isWhole = isMatch || !hasNameParts(name, detailed)
    /** Prembly returns the NIN behind a virtual NIN. */
    const RETURNED = kind === 'vnin' && name === 'prembly' ? toNinBehind(NUMBER) : NUMBER
    const toFailure = async (answer: Promise<unknown> | undefined, what?: string): Promise<SourceError> => {
      const error = await answer?.then(
        (result) => result,
        (reason: unknown) => reason,
      )
      expect(error, what).toBeInstanceOf(SourceError)
      expect((error as SourceError).problem, what).toBeDefined()
      return error as SourceError
    }
    const failure = (fault: Fault): Promise<SourceError> => {
      vendor.fail(fault)
      return toFailure(findIt(NUMBER, PHONE, SLOW.includes(fault) ? impatient : source), fault)
    }

    it('is available', () => {
      expect(source[kind === 'bvn' ? 'findBvn' : 'findNin']).toBeTypeOf('function')
      expect(source.isExternal).toBe(true)
    })

    it('finds a person and returns a record in the shape of the contract', async () => {
      const answer = await findIt(NUMBER, PHONE)
      if (!answer?.found) throw new Error('not found')
      const fits = kind === 'bvn' ? isBvnRecord : isNinRecord
      expect(fits(answer.record), JSON.stringify(fits.errors)).toBe(true)
      const { record } = answer
      const person = kind === 'bvn' ? toBvnPerson(NUMBER) : toNinPerson(NUMBER)
      expect(numberOf(record)).toBe(RETURNED)
      const { personal_info: got } = record
      const { personal_info: wanted } = person
      expect(got.phone_number).toBe(`0${PHONE}`)
      expect(got.date_of_birth).toBe(wanted.date_of_birth)
      expect(got.formatted_date_of_birth).toBe(wanted.formatted_date_of_birth)
      if (isWhole) expect(got.full_name.toLowerCase()).toBe(wanted.full_name.toLowerCase())
      else expect(got.first_name.toLowerCase()).toBe(wanted.first_name.toLowerCase())
      if (hasNameParts(name, detailed))
        expect(got.last_name.toLowerCase()).toBe(wanted.last_name.toLowerCase())
      expect(got.full_name).not.toBe('')
      expect(['', wanted.gender]).toContain(got.gender)
    })

    it('drops pictures, signatures and fields that are not in the contract', async () => {
      const answer = await findIt(NUMBER, PHONE)
      expect(JSON.stringify(answer)).not.toContain('/9j/')
    })

    it('returns not found for an unknown number', async () => {
      expect(await findIt(UNKNOWN, toPhoneCoreOf(UNKNOWN))).toMatchObject({ found: false })
    })

    const findUnknown = () => findIt(UNKNOWN, toPhoneCoreOf(UNKNOWN))
    const putBeside = (note: string) => vendor.alter((body) => ({ ...(body as object), note }))

    it.each([OTHER, 'CD112345678910YZ', `NIN ${OTHER}`])(
      'does not take "not found" for %s as one for the requested number',
      async (other) => {
        putBeside(`No record for ${other}`)
        expect(await toFailure(findUnknown())).toMatchObject({ problem: 'wrong_person' })
        vendor.alter(undefined)
        vendor.refuse(404, `No record for ${other}`)
        expect(await toFailure(findUnknown())).toMatchObject({ reason: 'bad_response' })
      },
    )

    it('does not take "not found" as one for the requested number when it repeats another', async () => {
      let isRepeated = false
      vendor.alter((body) => {
        const text = JSON.stringify(body)
        isRepeated = text.includes(UNKNOWN)
        return JSON.parse(text.replaceAll(UNKNOWN, OTHER))
      })
      const answer = await findUnknown()?.catch((error: unknown) => error)
      expect(answer).toMatchObject(isRepeated ? { problem: 'wrong_person' } : { found: false })
    })

    it.each([
      ['the requested number', `No record for ${UNKNOWN}`],
      ['the requested number in small letters', `no record for ${UNKNOWN.toLowerCase()}`],
      ['the requested phone', `No record with the phone 0${toPhoneCoreOf(UNKNOWN)}`],
      ['a masked number', 'No record for 883*****901'],
      ['a longer number', 'No record, request 8834567890123'],
      ['a reference alone', OTHER],
    ])('returns not found when the answer names %s', async (_, note) => {
      putBeside(note)
      expect(await findUnknown()).toMatchObject({ found: false })
    })

    it('never returns the requested phone in a record with another phone', async () => {
      const answer = await findIt(NUMBER, OTHER_PHONE)
      if (answer?.found) expect(answer.record.personal_info.phone_number).toBe(`0${PHONE}`)
    })

    if (isMatch)
      it('does not take a comparison that is missing for a match', async () => {
        expect(await failure('missing_fields')).toMatchObject({ reason: 'bad_response' })
      })

    it.skipIf(isMatch)('accepts a sparse answer: missing fields and nulls become empty', async () => {
      vendor.fail('missing_fields')
      const answer = await findIt(NUMBER, PHONE)
      if (!answer?.found) throw new Error('not found')
      const fits = kind === 'bvn' ? isBvnRecord : isNinRecord
      expect(fits(answer.record), JSON.stringify(fits.errors)).toBe(true)
      expect(numberOf(answer.record)).toBe(RETURNED)
      expect(answer.record.personal_info.last_name).toBe('')
    })

    if (kind === 'bvn' && !WITHOUT_WATCH_LIST.includes(name))
      it('never drops the watch list entry of a BVN', async () => {
        vendor.fail('watchlisted')
        const answer = await find.bvn(NUMBER, PHONE)
        if (answer?.found) expect(answer.record).toMatchObject({ watchlisted: 'YES' })
        else expect(answer).toMatchObject({ found: false, watchlisted: true })
      })

    if (kind === 'vnin')
      it.each(['12345678901', 'AB012345678911YZ', '', null])(
        'is not found when the answer has %j in place of the virtual NIN',
        async (other) => {
          vendor.alter((body) =>
            JSON.parse(JSON.stringify(body, (_field, value) => (value === NUMBER ? other : value))),
          )
          const answer = findIt(NUMBER, PHONE)
          // The documents of the others say that they always repeat it.
          const mayOmit = ['dojah', 'prembly'].includes(name) && !other
          if (mayOmit) expect(await answer).toMatchObject({ found: true })
          else expect(await toFailure(answer)).toMatchObject({ problem: 'wrong_person' })
        },
      )

    it('reports an error that comes with HTTP status 200', async () => {
      expect(['bad_response', 'unreachable']).toContain((await failure('error_in_200')).reason)
    })

    it.each(Object.entries(EXPECTED))('reports %s as %s', async (fault, reason) => {
      expect((await failure(fault as Fault)).reason).toBe(reason)
    })

    it('reports a vendor that is down as unreachable, with nothing sent', async () => {
      const closed = await openStandIn(script)
      const { settings } = closed
      await closed.close()
      const { vendors } = loadConfig(settings, '')
      const unreachable = await openVendor(name, { vendors, allowPrivate: false })
      await expect(findIt(NUMBER, PHONE, unreachable)).rejects.toMatchObject({
        reason: 'unreachable',
        sent: false,
      })
      await unreachable.close?.()
    })

    it('ends when the caller aborts, long before its own time limit', async () => {
      const patient = await openSource(60_000)
      vendor.fail('slow_headers')
      const caller = new AbortController()
      const before = vendor.count()
      const answer = findIt(NUMBER, PHONE, patient, newCall(caller.signal))
      const failed = expect(answer).rejects.toMatchObject({ reason: 'timeout' })
      await expect.poll(() => vendor.count(), { interval: 5 }).toBeGreaterThan(before)
      caller.abort()
      await failed
      await patient.close?.()
    })

    it('puts no personal data and no text of the vendor into an error', async () => {
      for (const fault of [...Object.keys(EXPECTED), 'error_in_200'] as Fault[]) {
        const error = await failure(fault)
        const text = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`
        for (const secret of [NUMBER, PHONE, CANARY, 'simulated-']) expect(text, fault).not.toContain(secret)
      }
    })
  })
})

const numberOf = (record: NinRecord | BvnRecord) =>
  'nin_number' in record ? record.nin_number : record.bvn_number
