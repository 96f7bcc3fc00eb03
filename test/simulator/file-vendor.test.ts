import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { createFileVendor } from '../../src/simulator/file-vendor.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { type Source, SourceError } from '../../src/sources/source.ts'
import { SHIPPED_VENDORS } from '../../src/sources/vendors.ts'

const DETAILS = { first_name: 'Ada', last_name: 'Obi', date_of_birth: '1990-01-05' }
const NUMBERS = { nin: '12345678901', virtual_nin: 'AB012345678910YZ', bvn: '22345678901' } as const
const UNKNOWNS = { nin: '99345678901', virtual_nin: 'AB992345678910YZ', bvn: '99345678901' } as const

const files = [...SHIPPED_VENDORS.values()].flatMap(({ loaded }) => (loaded ? [loaded] : []))
const newCall = () => ({ signal: AbortSignal.timeout(60_000), reference: 'ver_test' })

describe.each(files)('the file of $name, simulated', ({ name, file }) => {
  const refusals: string[] = []
  let vendor: StandIn
  let source: Source
  const open = (more = {}) => {
    const { vendors } = loadConfig({ ...vendor.settings, ...more }, '')
    return openVendor(name, { vendors, allowPrivate: false })
  }
  beforeAll(async () => {
    vendor = await openStandIn(createFileVendor(name, file, { onRefusal: (reason) => refusals.push(reason) }))
    source = await open()
  })
  afterEach(() => vendor.fail(undefined))
  afterAll(async () => {
    await source.close?.()
    await vendor.close()
  })

  const kinds = (['nin', 'virtual_nin', 'bvn'] as const).filter((kind) => file.operations[kind])
  const find = (number: string, kind: string, by = source) => {
    const query = { phone: toPhoneCoreOf(number), details: DETAILS }
    return kind === 'bvn'
      ? by.findBvn?.({ bvn: number, ...query }, newCall())
      : by.findNin?.({ nin: number, ...query }, newCall())
  }
  const [kind = 'nin'] = kinds
  const findOne = (by = source) => find(NUMBERS[kind], kind, by)
  const problemOf = async (answer: Promise<unknown> | undefined) => {
    const error = await answer?.catch((reason: unknown) => reason)
    return error instanceof SourceError ? error.problem : error
  }

  it.each(kinds)('has a person for a %s', async (kind) => {
    const number = NUMBERS[kind]
    expect(await find(number, kind)).toMatchObject({
      found: true,
      record: { personal_info: { phone_number: `0${toPhoneCoreOf(number)}` } },
    })
    expect(refusals).toEqual([])
  })

  it.each(kinds)('has none for a %s that begins with 99', async (kind) => {
    expect(await find(UNKNOWNS[kind], kind)).toMatchObject({ found: false })
  })

  it('refuses wrong credentials, and says which part is wrong', async () => {
    const secrets = Object.keys(vendor.settings).filter((env) => !env.endsWith('_URL'))
    const wrong = await open(Object.fromEntries(secrets.map((env) => [env, 'wrong'])))
    // Where they are in the body, the vendor says that the request is invalid.
    expect(['credentials', 'rejected']).toContain(await problemOf(findOne(wrong)))
    expect(refusals.splice(0).join()).not.toMatch(/wrong$|12345678901/)
    await wrong.close?.()
  })

  it.each([
    ['wrong_person', 'wrong_person'],
    ['contradictory', 'contradictory'],
    ['throttled', 'too_many'],
    ['failing', 'vendor_failed'],
    ['unauthorised', 'credentials'],
    ['no_funds', 'funds'],
    ['phone_masked', 'unreadable_phone'],
    ['unknown_app', 'unknown_account'],
  ] as const)('has the fault %s', async (fault, problem) => {
    vendor.fail(fault)
    expect(await problemOf(findOne())).toBe(problem)
  })

  it('gives the replies of the file by name', async () => {
    const say = (fault: string | null) =>
      fetch(`${vendor.url}/stand-in/fault`, { method: 'POST', body: JSON.stringify({ fault }) })
    expect((await say('says_not_found')).status).toBe(200)
    expect(await findOne()).toMatchObject({ found: false })
    expect((await say('says_nothing')).status).toBe(400)
    expect((await say(null)).status).toBe(200)
    expect(await findOne()).toMatchObject({ found: true })
  })

  it('refuses a path and a body that are not in the file', async () => {
    expect((await fetch(`${vendor.url}/another/path`, { method: 'POST', body: '{}' })).status).toBe(404)
    expect(refusals.splice(0)).toEqual(['no request of the file has this method and path'])
  })
})
