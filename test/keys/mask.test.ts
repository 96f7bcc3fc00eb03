import { describe, expect, it } from 'vitest'
import {
  isHiddenByDefault,
  listFieldGroups,
  mask,
  toFields,
  toHiddenFields,
  toNewlyHidden,
  toReleasedFields,
} from '../../src/keys/field-policy.ts'

const record = {
  number: '1',
  next_of_kin: { firstname: 'Ada', town: '', state: 'Lagos' },
  indigene_info: { place_of_origin: 'Epe', lga: 'Epe', other: null },
}

it('hides the next of kin and the place of origin by default, and leaves empty fields empty', () => {
  expect(mask(record, toHiddenFields([], []))).toEqual({
    number: '1',
    next_of_kin: { firstname: '****', town: '', state: '****' },
    indigene_info: { place_of_origin: '****', lga: 'Epe', other: null },
  })
})

it('hides every value with the same number of asterisks', () => {
  expect(mask({ a: 'x'.repeat(50), b: 'y' }, ['a', 'b'])).toEqual({ a: '****', b: '****' })
})

it('hides whether there is a watch list entry', () => {
  expect(mask({ watchlisted: null, nin: '' }, ['watchlisted', 'nin'])).toEqual({
    watchlisted: '****',
    nin: '',
  })
})

it('does not change the record', () => {
  const before = structuredClone(record)
  mask(record, toHiddenFields([], []))
  expect(record).toEqual(before)
})

it('ignores names that the record does not have', () => {
  expect(mask({ a: { b: '1' } }, ['c', 'a.c'])).toEqual({ a: { b: '1' } })
})

it('hides and reveals what the key says', () => {
  expect(toHiddenFields(['religion', 'image_url'], ['next_of_kin'])).toEqual([
    'indigene_info.place_of_origin',
    'personal_info.religion',
    'personal_info.image_url',
  ])
  expect(toHiddenFields([], ['next_of_kin.town'])).not.toContain('next_of_kin.town')
  expect(toHiddenFields([], ['next_of_kin.town'])).toContain('next_of_kin.state')
})

it('finds fields by their name, their dotted name or their group, on NIN and BVN', () => {
  expect(toFields('religion')).toEqual(['personal_info.religion'])
  expect(toFields('personal_info.email')).toEqual(['personal_info.email'])
  expect(toFields('address')).toEqual(['next_of_kin.address', 'residential_info.address'])
  expect(toFields('watchlisted')).toEqual(['watchlisted'])
  expect(toFields('next_of_kin')).toHaveLength(6)
  expect([toFields('unknown'), toFields('nin_number'), toFields('')]).toEqual([[], [], []])
})

it('never hides the number that was asked about', () => {
  expect([toFields('bvn_number'), toFields('nin_number')]).toEqual([[], []])
  expect(toHiddenFields(['bvn_number', 'nin_number'], [])).toEqual(toHiddenFields([], []))
})

it('says which words are hidden without a policy', () => {
  const words = [
    'next_of_kin',
    'town',
    'place_of_origin',
    'indigene_info',
    'personal_info',
    'watchlisted',
    'unknown',
  ]
  expect(words.filter(isHiddenByDefault)).toEqual(['next_of_kin', 'town', 'place_of_origin', 'indigene_info'])
})

describe('a hidden field', () => {
  it('hides what is derived from it, directly or through another field', () => {
    const hidden = toHiddenFields(['last_name'], [])
    expect(hidden).toEqual(
      expect.arrayContaining(['personal_info.full_name', 'name_on_card', 'personal_info.email']),
    )
    expect(hidden).not.toContain('personal_info.first_name')
  })

  it('cannot be seen through a field that is revealed', () => {
    const hidden = toHiddenFields(['date_of_birth'], ['formatted_date_of_birth'])
    expect(hidden).toContain('personal_info.formatted_date_of_birth')
  })

  it('does not hide the fields that it is derived from', () => {
    const hidden = toHiddenFields(['full_name'], [])
    expect(hidden).toContain('name_on_card')
    expect(hidden).not.toContain('personal_info.last_name')
  })

  it('is hidden in both records, in a group and outside one', () => {
    const person = { watchlisted: 'yes', personal_info: { last_name: 'Obi', title: 'Mr' } }
    expect(mask(person, toHiddenFields(['watchlisted', 'last_name'], []))).toEqual({
      watchlisted: '****',
      personal_info: { last_name: '****', title: 'Mr' },
    })
  })
})

describe('the list of fields', () => {
  const groups = listFieldGroups()

  it('has every field once, by group, those outside a group under record', () => {
    expect(groups.map(({ group }) => group)).toEqual([
      'record',
      'personal_info',
      'next_of_kin',
      'residential_info',
      'indigene_info',
      'education_profession',
    ])
    const names = groups.flatMap(({ fields }) => fields.map(({ name }) => name))
    expect(new Set(names).size).toBe(names.length)
    expect(groups[0]?.fields.map(({ name }) => name)).toContain('watchlisted')
  })

  it('says what is hidden by default, and what each is derived from', () => {
    const fields = new Map(
      groups.flatMap((group) => group.fields.map((field) => [field.name, field] as const)),
    )
    expect(fields.get('next_of_kin.town')).toMatchObject({ hidden_by_default: true, derived_from: [] })
    expect(fields.get('personal_info.title')).toMatchObject({ hidden_by_default: false })
    expect(fields.get('personal_info.formatted_date_of_birth')?.derived_from).toEqual([
      'personal_info.date_of_birth',
    ])
  })
})

describe('what a key was shown', () => {
  const HIDDEN = toHiddenFields([], [])

  it('names a group that is shown whole, and the fields of any other', () => {
    const shown = toReleasedFields('nin', HIDDEN).split(',')
    expect(shown).toEqual(
      expect.arrayContaining(['nin_number', 'personal_info', 'indigene_info.lga_of_origin']),
    )
    expect(
      shown.filter((field) => /next_of_kin|place_of_origin|^indigene_info$|^personal_info\./.test(field)),
    ).toEqual([])
    expect(toReleasedFields('bvn', HIDDEN)).toMatch(
      /^bvn_number,.*watchlisted,.*personal_info,residential_info$/,
    )
    expect(toReleasedFields('nin', HIDDEN)).toBe(shown.join(','))
  })

  it('is compared with what it may see now: the same hides nothing, more hides the difference', () => {
    const before = toReleasedFields('nin', HIDDEN)
    expect(toNewlyHidden('nin', before, [...HIDDEN])).toBeUndefined()
    const now = toHiddenFields(['date_of_birth'], [])
    const change = toNewlyHidden('nin', before, now)
    expect(change?.fields).toEqual(['personal_info.date_of_birth', 'personal_info.formatted_date_of_birth'])
    expect(change?.released).toBe(toReleasedFields('nin', now))
    expect(
      toNewlyHidden('bvn', toReleasedFields('bvn', HIDDEN), toHiddenFields(['watchlisted'], []))?.fields,
    ).toEqual(['watchlisted'])
  })

  it('stays hidden in an old answer, although the key may see it now', () => {
    const narrow = toHiddenFields(['religion'], [])
    const before = toReleasedFields('nin', narrow)
    expect(toNewlyHidden('nin', before, HIDDEN)).toBeUndefined()
    const change = toNewlyHidden('nin', before, toHiddenFields(['email', 'title'], []))
    expect(change?.fields).toEqual(['personal_info.title'])
    expect(change?.released).not.toMatch(/religion|personal_info\.title|personal_info,/)
  })
})
