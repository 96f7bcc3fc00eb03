import { expect, it } from 'vitest'
import { mask } from './mask.ts'

const record = {
  number: '1',
  next_of_kin: { firstname: 'Ada', town: '', state: 'Lagos' },
  indigene_info: { place_of_origin: 'Epe', lga: 'Epe', other: null },
}

it('hides by default the next of kin and the place of origin, and leaves empty empty', () => {
  expect(mask(record)).toEqual({
    number: '1',
    next_of_kin: { firstname: '****', town: '', state: '****' },
    indigene_info: { place_of_origin: '****', lga: 'Epe', other: null },
  })
})

it('hides with a run of one length', () => {
  expect(mask({ a: 'x'.repeat(50), b: 'y' }, ['a', 'b'])).toEqual({ a: '****', b: '****' })
})

it('leaves the record as it was', () => {
  const before = structuredClone(record)
  mask(record)
  expect(record).toEqual(before)
})

it('passes over names that the record does not have', () => {
  expect(mask({ a: { b: '1' } }, ['c', 'a.c'])).toEqual({ a: { b: '1' } })
})
