import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import { loadConfig } from '../../src/context/config.ts'
import type { CommitParts } from '../../src/ledger/commit.ts'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { CANARY } from '../../src/simulator/faults.ts'
import { toBvnPerson, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { prembly } from '../../src/simulator/prembly.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import { openStandIn, type StandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { certifyVendor, type StepResult } from '../../src/sources/certify-vendor.ts'
import type { Step } from '../../src/sources/certify-verdict.ts'
import { OPERATIONS, type OperationName } from '../../src/sources/vendor-file/schema.ts'
import { SHIPPED_VENDORS } from '../../src/sources/vendors.ts'

const NUMBER = '12345678901'
const { personal_info: INFO } = toNinPerson(NUMBER)
const PERSON = { number: NUMBER, phone: toPhoneCoreOf(NUMBER) }
const NAMES = { first_name: INFO.first_name, last_name: INFO.last_name }

type Options = {
  readonly operation?: OperationName
  readonly person?: Parameters<typeof certifyVendor>[3]
  readonly leaveOut?: readonly Step[]
  readonly disabled?: readonly string[]
  readonly maxCalls?: number
  readonly onAsk?: (step: Step) => void
}

/** Runs a certification with answers to its questions, and returns all that it said and recorded. */
async function certify(name: string, settings: Record<string, string>, options: Options = {}) {
  const steps: StepResult[] = []
  const advice: string[] = []
  const rows: string[] = []
  let left = options.maxCalls ?? 100
  const controller = new AbortController()
  const money = { name, day: 1, node: 'here', kobo: 5000, isCapped: true }
  const deps = {
    config: loadConfig(settings, ''),
    store: { sources: { listDisabled: async () => options.disabled ?? [] } as never },
    audit: {
      recordWith: async (_parts: CommitParts, entries: readonly AuditEntry[]) => {
        rows.push(...entries.map(({ phase, detail }) => `${phase} ${detail}`))
        return undefined
      },
    },
    leases: {
      take: async () => (left-- > 0 ? money : ('spend_cap' as const)),
      lose: () => {},
      refundLate: async () => void rows.push('refund'),
    },
    author: 'ada',
    ask: async (step: Step) => {
      options.onAsk?.(step)
      return !options.leaveOut?.includes(step)
    },
    onStep: (result: StepResult, text: string | undefined) => {
      steps.push(result)
      if (text !== undefined) advice.push(text)
    },
    signal: controller.signal,
  }
  const failure = await certifyVendor(deps, name, options.operation ?? 'nin', options.person ?? PERSON).catch(
    (error: Error) => error.message,
  )
  return { steps, advice, rows, failure, verdicts: steps.map(({ step, verdict }) => `${step}: ${verdict}`) }
}

const find = (steps: readonly StepResult[], wanted: Step) => steps.find(({ step }) => step === wanted)

function useVendor(script: VendorScript) {
  let vendor: StandIn
  beforeAll(async () => {
    vendor = await openStandIn(script)
  })
  afterAll(() => vendor.close())
  return () => vendor
}

/** Nothing of the person or of the vendor's own texts. */
function expectNothingPersonal(value: unknown) {
  const text = JSON.stringify(value).toLowerCase()
  for (const secret of [NUMBER, PERSON.phone, INFO.first_name, INFO.last_name, CANARY])
    expect(text).not.toContain(secret.toLowerCase())
}

describe('a certification of dojah', () => {
  const vendor = useVendor(dojah)

  it('proves its rules and fields, without a call for the phone that is not sent', async () => {
    const before = vendor().count()
    const { verdicts, steps, rows } = await certify('dojah', vendor().settings)
    expect(verdicts).toEqual([
      'found: proved',
      'wrong_phone: not_needed',
      'unknown_number: proved',
      'malformed_number: proved',
      'wrong_credentials: proved',
    ])
    expect(vendor().count() - before).toBe(4)
    expect(find(steps, 'found')).toMatchObject({ rule: 'record', http_status: 200, outcome: 'found' })
    expect(find(steps, 'found')?.fields).toEqual(
      expect.arrayContaining(['nin_number', 'personal_info.phone_number', 'personal_info.first_name']),
    )
    expect(find(steps, 'found')?.fields).not.toContain('personal_info.maiden_name')
    expect(find(steps, 'unknown_number')).toMatchObject({ rule: 'no such person', outcome: 'not_found' })
    expect(find(steps, 'wrong_credentials')).toMatchObject({
      rule: null,
      http_status: 401,
      outcome: 'credentials',
    })
    expect(rows[0]).toBe('source_checked dojah; certification of nin: found; by ada')
    expect(rows.slice(-2)).toEqual([expect.stringContaining('wrong_credentials; by ada'), 'refund'])
    expectNothingPersonal([steps, rows])
  })

  it('says which lines to add if no rule recognises an unknown number', async () => {
    vendor().refuse(404, 'The supplied number is not in our register')
    const { steps, advice } = await certify('dojah', vendor().settings, { leaveOut: ['found'] })
    vendor().refuse(undefined)
    expect(find(steps, 'unknown_number')).toMatchObject({
      verdict: 'contradicts',
      rule: null,
      http_status: 404,
    })
    expect(find(steps, 'unknown_number')?.answer).toMatchObject({ error: expect.stringMatching(/^[A ]+$/) })
    expect(advice[0]).toContain('"texts": {"no_such_person": ["The supplied number is not in our register"]}')
    expect(advice[0]).toContain('"then":"not_found"')
  })

  it('does not take a wrong secret that is read as "no such person" for a proof', async () => {
    vendor().answerWith({ status: 404, body: { error: 'NIN not found' } })
    const { steps } = await certify('dojah', vendor().settings)
    vendor().answerWith(undefined)
    expect(find(steps, 'found')).toMatchObject({ verdict: 'contradicts', rule: 'no such person' })
    expect(find(steps, 'wrong_credentials')).toMatchObject({ verdict: 'contradicts', outcome: 'not_found' })
  })

  it('notices a record with another phone', async () => {
    const { steps } = await certify('dojah', vendor().settings, {
      person: { ...PERSON, phone: '8039999999' },
    })
    expect(find(steps, 'found')).toMatchObject({ verdict: 'contradicts', outcome: 'other_phone' })
  })

  it('makes no call that was refused, that is above the cap, or for a disabled vendor', async () => {
    const before = vendor().count()
    const refused = await certify('dojah', vendor().settings, {
      leaveOut: ['found', 'unknown_number', 'malformed_number', 'wrong_credentials'],
    })
    expect(refused.verdicts.filter((text) => text.endsWith('left_out'))).toHaveLength(4)
    const disabled = await certify('dojah', vendor().settings, { disabled: ['dojah'] })
    expect(disabled.failure).toContain('dojah is disabled')
    expect(vendor().count()).toBe(before)
    const capped = await certify('dojah', vendor().settings, { maxCalls: 1 })
    expect(capped.failure).toContain('exceed its daily cap')
    // What was proved before it is kept.
    expect(capped.verdicts).toEqual(['found: proved', 'wrong_phone: not_needed'])
    expect(vendor().count()).toBe(before + 1)
  })

  it.each([
    ['bvn', NUMBER],
    ['virtual_nin', 'AB012345678901YZ'],
  ] as const)('proves %s', async (operation, number) => {
    const person = { number, phone: toPhoneCoreOf(number) }
    const { verdicts } = await certify('dojah', vendor().settings, { operation, person })
    expect(verdicts.filter((text) => /contradicts|not_proved/.test(text))).toEqual([])
    expect(verdicts).toContain('found: proved')
    expect(verdicts).toContain('unknown_number: proved')
  })
})

describe.each(IDENTITY_VENDORS.filter(({ name }) => SHIPPED_VENDORS.get(name)?.loaded))(
  'a certification of $name',
  (script) => {
    const vendor = useVendor(script)
    const operations = SHIPPED_VENDORS.get(script.name)?.loaded?.file.operations ?? {}

    it.each(OPERATIONS.filter((operation) => operations[operation]))(
      'finds no contradiction at a vendor that does as documented: %s',
      async (operation) => {
        const number = operation === 'virtual_nin' ? 'AB012345678901YZ' : NUMBER
        const { personal_info: info } = operation === 'bvn' ? toBvnPerson(number) : toNinPerson(number)
        const { last_name, date_of_birth } = info
        // Monnify compares the whole name.
        const first_name =
          script.name === 'monnify' ? `${info.first_name} ${info.middle_name}` : info.first_name
        const details = { first_name, last_name, date_of_birth }
        const person = { number, phone: toPhoneCoreOf(number), details }
        const { steps, verdicts, advice } = await certify(script.name, vendor().settings, {
          operation,
          person,
        })
        expect(verdicts).toContain('found: proved')
        expect(verdicts).toContain('unknown_number: proved')
        expect(verdicts).toContain('wrong_credentials: proved')
        expect(verdicts.filter((text) => text.endsWith('contradicts'))).toEqual([])
        expect(find(steps, 'found')?.fields?.length).toBeGreaterThan(0)
        expect(advice).toEqual([])
        expectNothingPersonal(steps)
      },
    )
  },
)

describe('a certification of a vendor', () => {
  const ofPrembly = useVendor(prembly)
  const ofQoreid = useVendor(qoreid)
  const ofBlusalt = useVendor(blusalt)

  it('with a code in every answer proves the rule of each code', async () => {
    const { verdicts, steps } = await certify('prembly', ofPrembly().settings)
    expect(verdicts).toEqual([
      'found: proved',
      'wrong_phone: not_needed',
      'unknown_number: proved',
      'malformed_number: proved',
      'wrong_credentials: proved',
    ])
    expect(find(steps, 'unknown_number')?.rule).not.toBeNull()
    expectNothingPersonal(steps)
  })

  it('with a token refuses the damaged secret when the token is fetched', async () => {
    const settings = { ...ofQoreid().settings, TABBAT_QOREID_NAMES_OPTIONAL: 'off' }
    const { verdicts, steps } = await certify('qoreid', settings, { person: { ...PERSON, details: NAMES } })
    expect(verdicts).toEqual([
      'found: proved',
      'wrong_phone: not_needed',
      'unknown_number: proved',
      'malformed_number: not_proved',
      'wrong_credentials: proved',
    ])
    // No look-up was answered, so no rule decided.
    expect(find(steps, 'wrong_credentials')).toMatchObject({ http_status: 401, outcome: 'credentials' })
    expect(find(steps, 'wrong_credentials')?.rule).toBeUndefined()
    expectNothingPersonal(steps)
  })

  it('that compares names says so when they are others', async () => {
    const details = { first_name: 'Somebody', last_name: 'Else' }
    const { steps } = await certify('qoreid', ofQoreid().settings, { person: { ...PERSON, details } })
    expect(find(steps, 'found')).toMatchObject({ verdict: 'not_proved', outcome: 'names_differ' })
  })

  it('that compares the phone itself is called with a wrong one', async () => {
    const { verdicts, steps } = await certify('blusalt', ofBlusalt().settings)
    expect(verdicts).toEqual([
      'found: proved',
      'wrong_phone: proved',
      'unknown_number: proved',
      'malformed_number: proved',
      'wrong_credentials: proved',
    ])
    expect(find(steps, 'wrong_phone')).toMatchObject({
      rule: 'other phone, as an error',
      outcome: 'not_found',
    })
    expectNothingPersonal(steps)
  })

  it('that does not answer proves nothing and contradicts nothing', async () => {
    ofPrembly().fail('failing')
    const { verdicts } = await certify('prembly', ofPrembly().settings)
    ofPrembly().fail(undefined)
    expect(verdicts).toEqual([
      'found: not_proved',
      'wrong_phone: not_needed',
      'unknown_number: not_proved',
      'malformed_number: not_proved',
      'wrong_credentials: not_proved',
    ])
  })

  it('that is code has nothing to prove', async () => {
    const settings = { TABBAT_VTPASS_API_KEY: 'a', TABBAT_VTPASS_PUBLIC_KEY: 'b' }
    expect((await certify('vtpass', settings)).failure).toContain('has no file')
  })
})
