import { describe, expect, it } from 'vitest'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { useAlteredVendor } from './altered-vendor.ts'
import { decidingFields, hasNameParts, isMatchOnly, kindsOf } from './identity-vendors.ts'

/** Words of vendors that mean that there is no value are not passed on, and are neither names nor watch list entries. */
const WORDS = [
  'N/A',
  'n/a',
  'NA',
  'null',
  'NULL',
  'undefined',
  '-',
  '--',
  '.',
  ' ',
  'nil',
  'NIL',
  'None',
  ' none ',
  '(null)',
]
const NOT_LISTED = [
  ...WORDS,
  'NO',
  'no',
  'N',
  'False',
  false,
  0,
  '0',
  'CLEAR',
  'NOT WATCHLISTED',
  'Not watch-listed',
  null,
]

type Edit = (name: string, value: unknown) => unknown

/** The body with other values in its fields, at any depth. */
const editFields = (body: unknown, edit: Edit): unknown => {
  if (Array.isArray(body)) return body.map((part) => editFields(part, edit))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      name,
      typeof value === 'object' && value !== null ? editFields(value, edit) : edit(name, value),
    ]),
  )
}

const NAMES = /^(first|firs|middle|last|sur|full|maiden|p?first|p?middle|p?sur)_?name$/i
const nameAda =
  (middleName: string): Edit =>
  (field, value) => {
    if (/^full_?name$/i.test(field)) return `Ada ${middleName} Obi`
    if (/^first_?name$/i.test(field)) return 'Ada'
    if (/^(last_?|sur)name$/i.test(field)) return 'Obi'
    return /^p?middle_?name$/i.test(field) ? middleName : value
  }

const WATCH_LISTS = /^watch_?listed$/i
/** Texts that the answer needs: numbers, phones, names, and the vendor's own codes. */
const NEEDED =
  /name$|^(nin|bvn|vnin|idnumber|status|state|response_code|statuscode|status_code|verification_status|message|detail)|phone|mobile|number|telephone/i

describe.each(IDENTITY_VENDORS.map((script) => [script.name, script] as const))('%s', (name, script) => {
  const { alter: alterBody, find } = useAlteredVendor(script)
  const alter = (edit: Edit) => alterBody((body) => editFields(body, edit))

  const kinds = kindsOf(name).filter((kind) => !isMatchOnly(name, kind))

  describe.each(kinds)('%s', (kind) => {
    const isNeeded = (field: string) => NEEDED.test(field) || decidingFields(name, kind).includes(field)

    it.each(WORDS)('is no person when all names are %j', async (word) => {
      alter((field, value) => (NAMES.test(field) ? word : value))
      await expect(find[kind]()).rejects.toMatchObject({ reason: 'bad_response', problem: 'unknown_shape' })
    })

    it('has no middle name when it is one of the words, also in the full name', async () => {
      // In a full name alone, "Na" may be a name (Na Allah), and a hyphen may join two (Adeyemi - Bello).
      const words = hasNameParts(name, kind) ? WORDS : WORDS.filter((word) => /^\(?[a-z/]{3,}/i.test(word))
      for (const word of words) {
        alter(nameAda(word))
        const answer = await find[kind]()
        if (!answer?.found) throw new Error('not found')
        expect(answer.record.personal_info, word).toMatchObject({ middle_name: '', full_name: 'Ada Obi' })
      }
    })

    it('passes none of the words on', async () => {
      for (const word of WORDS) {
        alter((field, value) => (isNeeded(field) || typeof value !== 'string' ? value : word))
        const answer = await find[kind]()
        if (!answer?.found) throw new Error('not found')
        const texts = JSON.stringify(answer.record).match(/"(?:[^"\\]|\\.)*"(?!:)/g)
        expect(texts, word).not.toContain(JSON.stringify(word.trim() || ' '))
      }
    })
  })

  it.runIf(kinds.includes('bvn'))(
    'has no watch list entry for words that mean none, and has one for any other',
    async () => {
      for (const word of NOT_LISTED) {
        alter((field, value) => (WATCH_LISTS.test(field) ? word : value))
        expect(await find.bvn(), String(word)).toMatchObject({ found: true, record: { watchlisted: null } })
      }
      let isGiven = false
      alterBody((body) =>
        editFields(body, (field, value) => {
          isGiven ||= WATCH_LISTS.test(field)
          return WATCH_LISTS.test(field) ? 'Blocked by NIBSS' : value
        }),
      )
      const answer = await find.bvn()
      if (isGiven) expect(answer).toMatchObject({ record: { watchlisted: 'Blocked by NIBSS' } })
    },
  )
})
