import { Ajv } from 'ajv'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { BvnRecord } from '../../src/contract/bvn.ts'
import { NinRecord } from '../../src/contract/nin.ts'
import { CANARY, type Fault, SERVER_FAILURES, SLOW } from '../../src/simulator/faults.ts'
import { toBvnPerson, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { type Source, SourceError, type SourceFailure } from '../../src/sources/source.ts'
import { VENDORS, type VendorName } from '../../src/sources/vendors.ts'

/** What every source passes (see contract-answers.test.ts, too): the same faults, over real sockets, from a server that speaks the vendor's format. */
const NUMBER = '12345678901'
const NOBODY = '99345678901'
const PHONE = toPhoneCoreOf(NUMBER)
const OTHER_PHONE = '8021112223'

/** What each way of failing must be called. */
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

/** Their BVN products, as they are asked by default, say nothing about a watch list. */
const WITHOUT_WATCH_LIST: readonly string[] = ['dojah', 'youverify', 'qoreid']

const newCall = (signal: AbortSignal = AbortSignal.timeout(30_000)) => ({ signal, reference: 'ver_test' })

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  let vendor: StandIn
  let source: Source
  /** Gives up soon, for the faults that are nothing but waiting. */
  let hasty: Source
  beforeAll(async () => {
    vendor = await openStandIn(script)
    source = await openSource(20_000)
    hasty = await openSource(150)
    // What needs a token has one before anything hangs.
    await hasty.findNin?.({ nin: NUMBER, phone: PHONE }, newCall()).catch(() => {})
    await hasty.findBvn?.({ bvn: NUMBER, phone: PHONE }, newCall()).catch(() => {})
  })
  const openSource = (attemptMs: number) => {
    const { vendors } = loadConfig(vendor.settings, '')
    return openVendor(name as VendorName, { vendors, allowPrivate: false, attemptMs })
  }
  afterEach(() => vendor.fail(undefined))
  afterAll(async () => {
    await source.close?.()
    await hasty.close?.()
    await vendor.close()
  })

  const find = {
    nin: (number: string, phone: string, by = source) => by.findNin?.({ nin: number, phone }, newCall()),
    bvn: (number: string, phone: string, by = source) => by.findBvn?.({ bvn: number, phone }, newCall()),
  }

  const abilities: readonly string[] = VENDORS[name as VendorName].abilities
  const kinds = (['nin', 'bvn'] as const).filter((kind) => abilities.includes(kind))

  describe.each(kinds)('%s', (kind) => {
    const findIt = find[kind]
    const toFailure = async (asked: Promise<unknown> | undefined, what?: string): Promise<SourceError> => {
      const error = await asked?.then(
        (answer) => answer,
        (reason: unknown) => reason,
      )
      expect(error, what).toBeInstanceOf(SourceError)
      expect((error as SourceError).problem, what).toBeDefined()
      return error as SourceError
    }
    const failure = (fault: Fault): Promise<SourceError> => {
      vendor.fail(fault)
      return toFailure(findIt(NUMBER, PHONE, SLOW.includes(fault) ? hasty : source), fault)
    }

    it('is served', () => {
      expect(source[kind === 'nin' ? 'findNin' : 'findBvn']).toBeTypeOf('function')
      expect(source.isExternal).toBe(true)
    })

    it('finds a person and tells it in the words of the contract', async () => {
      const answer = await findIt(NUMBER, PHONE)
      if (!answer?.found) throw new Error('not found')
      const fits = kind === 'nin' ? isNinRecord : isBvnRecord
      expect(fits(answer.record), JSON.stringify(fits.errors)).toBe(true)
      const { record } = answer
      const person = kind === 'nin' ? toNinPerson(NUMBER) : toBvnPerson(NUMBER)
      expect(numberOf(record)).toBe(NUMBER)
      const { personal_info: got } = record
      const { personal_info: wanted } = person
      expect(got.phone_number).toBe(`0${PHONE}`)
      expect(got.date_of_birth).toBe(wanted.date_of_birth)
      expect(got.formatted_date_of_birth).toBe(wanted.formatted_date_of_birth)
      expect(got.first_name.toLowerCase()).toBe(wanted.first_name.toLowerCase())
      expect(got.last_name.toLowerCase()).toBe(wanted.last_name.toLowerCase())
      expect(got.full_name).not.toBe('')
      expect(['', wanted.gender]).toContain(got.gender)
    })

    it('drops pictures, signatures and whatever the contract does not know', async () => {
      const answer = await findIt(NUMBER, PHONE)
      expect(JSON.stringify(answer)).not.toContain('/9j/')
    })

    it('says not found for a number that nobody has', async () => {
      expect(await findIt(NOBODY, toPhoneCoreOf(NOBODY))).toMatchObject({ found: false })
    })

    it('never gives a record with the phone that was asked for when the phone differs', async () => {
      const answer = await findIt(NUMBER, OTHER_PHONE)
      if (answer?.found) expect(answer.record.personal_info.phone_number).toBe(`0${PHONE}`)
    })

    it('takes a sparse answer: missing keys and nulls are empty', async () => {
      vendor.fail('missing_fields')
      const answer = await findIt(NUMBER, PHONE)
      if (!answer?.found) throw new Error('not found')
      const fits = kind === 'nin' ? isNinRecord : isBvnRecord
      expect(fits(answer.record), JSON.stringify(fits.errors)).toBe(true)
      expect(numberOf(answer.record)).toBe(NUMBER)
      expect(answer.record.personal_info.last_name).toBe('')
    })

    if (kind === 'bvn' && !WITHOUT_WATCH_LIST.includes(name))
      it('never clears a BVN that the vendor calls blocked or watch-listed', async () => {
        vendor.fail('watchlisted')
        const answer = await find.bvn(NUMBER, PHONE)
        if (answer?.found) expect(answer.record).toMatchObject({ watchlisted: 'YES' })
        else expect(answer).toMatchObject({ found: false, watchlisted: true })
      })

    it('does not take an error for an answer because it came with 200', async () => {
      expect(['bad_response', 'unreachable']).toContain((await failure('error_in_200')).reason)
    })

    it.each(Object.entries(EXPECTED))('calls %s %s', async (fault, reason) => {
      expect((await failure(fault as Fault)).reason).toBe(reason)
    })

    it('calls nobody there unreachable, and knows that nothing was sent', async () => {
      const gone = await openStandIn(script)
      const { settings } = gone
      await gone.close()
      const { vendors } = loadConfig(settings, '')
      const lost = await openVendor(name as VendorName, { vendors, allowPrivate: false })
      const ask =
        kind === 'nin'
          ? lost.findNin?.({ nin: NUMBER, phone: PHONE }, newCall())
          : lost.findBvn?.({ bvn: NUMBER, phone: PHONE }, newCall())
      await expect(ask).rejects.toMatchObject({ reason: 'unreachable', sent: false })
      await lost.close?.()
    })

    it('lets go when the caller gives up, long before its own time is over', async () => {
      const patient = await openSource(60_000)
      vendor.fail('slow_headers')
      const caller = new AbortController()
      const before = vendor.count()
      const asked =
        kind === 'nin'
          ? patient.findNin?.({ nin: NUMBER, phone: PHONE }, newCall(caller.signal))
          : patient.findBvn?.({ bvn: NUMBER, phone: PHONE }, newCall(caller.signal))
      const failed = expect(asked).rejects.toMatchObject({ reason: 'timeout' })
      await expect.poll(() => vendor.count(), { interval: 5 }).toBeGreaterThan(before)
      caller.abort()
      await failed
      await patient.close?.()
    })

    it('puts nothing of a person or of the vendor into an error', async () => {
      for (const fault of [...Object.keys(EXPECTED), 'error_in_200'] as Fault[]) {
        const error = await failure(fault)
        const told = `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`
        for (const secret of [NUMBER, PHONE, CANARY, 'simulated-']) expect(told, fault).not.toContain(secret)
      }
    })
  })
})

const numberOf = (record: NinRecord | BvnRecord) =>
  'nin_number' in record ? record.nin_number : record.bvn_number
