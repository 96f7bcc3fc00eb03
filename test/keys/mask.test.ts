import { expect, it } from 'vitest'
import { mask, toFields, toHiddenFields } from '../../src/keys/field-policy.ts'

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
