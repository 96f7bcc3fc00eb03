import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { saysNothing } from '../../src/contract/record.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { SourceError } from '../../src/sources/source.ts'
import { NUMBER, useAlteredVendor } from './altered-vendor.ts'
import { kindsOf } from './identity-vendors.ts'

/**
 * The documented answer about a person, damaged in any way: the result is the record of that person, or a failure. It is never another
 * person, never a person without a name, and never "not found".
 */
const REMOVED = Symbol('removed')

const damage = fc.constantFrom<unknown>(
  ...[REMOVED, null, '', 'N/A', 'null', 'None', '-', 'Zo\ufffd', '\ud800', '****', 'x'.repeat(600)],
  ...[0, -1, true, false, [], {}, [null], ['a', ['b']], { a: 1 }],
  ...[
    'false',
    'error',
    'failed',
    'pending',
    '98765432109',
    98765432109,
    '08021112223',
    '1990-01-04T23:00:00Z',
  ],
)
/** Which fields are damaged, by their place in the answer, and how. */
const damages = fc.array(fc.tuple(fc.nat(120), damage), { minLength: 1, maxLength: 4 })
/** Fields beside the documented ones. */
const additions = fc.dictionary(
  fc.constantFrom('success', 'status', 'error', 'errors', 'code', 'nin', 'bvn', 'data', 'message'),
  damage.filter((value) => value !== REMOVED),
  { maxKeys: 2 },
)

/** The body with its fields damaged, counted in the order in which they are met. */
function damageFields(body: unknown, edits: ReadonlyMap<number, unknown>, count = { fields: 0 }): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const place = count.fields++
      const edited = edits.has(place) ? edits.get(place) : damageFields(value, edits, count)
      return edited === REMOVED ? [] : [[name, edited]]
    }),
  )
}

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  const { alter, find } = useAlteredVendor(script)

  it.each(kindsOf(name))('gives the record of the %s or a failure', async (kind) => {
    let found = 0
    await fc.assert(
      fc.asyncProperty(damages, additions, async (edits, more) => {
        alter((body) => ({ ...(damageFields(body, new Map(edits)) as object), ...more }))
        const answer = await find[kind]().catch((error: unknown) => error)
        if (answer instanceof SourceError) return
        expect(answer).toMatchObject({ found: true })
        const { record } = answer as {
          record: Record<string, unknown> & { personal_info: Record<string, string> }
        }
        found += 1
        expect(record[`${kind}_number`]).toBe(NUMBER)
        const { first_name = '', middle_name = '', last_name = '', full_name = '' } = record.personal_info
        for (const each of [first_name, middle_name, last_name])
          expect(each === '' || !saysNothing(each)).toBe(true)
        expect(saysNothing(full_name)).toBe(false)
        // Without a phone that can be read, "not verified" would say something about the person.
        const { phone_number, phone_number_2 } = record.personal_info
        expect([phone_number, phone_number_2].some((phone) => /^0\d{10}$/.test(String(phone)))).toBe(true)
        expect(JSON.stringify(record)).not.toMatch(/\ufffd|\\ud[89a-f]/)
      }),
      { numRuns: 150 },
    )
    // The property says something only if many answers are still read.
    expect(found).toBeGreaterThan(10)
  })
})
