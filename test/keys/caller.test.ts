import { expect, it } from 'vitest'
import { toCaller } from '../../src/keys/caller.ts'
import { type OptionValues, withDefaults } from '../../src/keys/options.ts'

const read = (options: Partial<OptionValues> = {}) =>
  toCaller({ ...withDefaults(options), id: 'new', lineage: 'first', mode: 'live', scopes: ['kyc:nin'] })

it('a key without options may ask about 2000 people a day, from any address', () => {
  const caller = read()
  expect(caller).toMatchObject({ keyId: 'new', lineage: 'first', mode: 'live', subjectsPerDay: 2000 })
  expect([...caller.scopes]).toEqual(['kyc:nin'])
  expect(caller.isAddressAllowed('203.0.113.9')).toBe(true)
  expect(caller.hidden).toContain('next_of_kin.firstname')
})

it('a key with options has what follows from them', () => {
  const options = {
    subjectsPerDay: 5,
    allowedIps: ['10.0.0.0/8'],
    hide: ['religion'],
    reveal: ['next_of_kin'],
  }
  const caller = read(options)
  expect(caller.subjectsPerDay).toBe(5)
  expect([caller.isAddressAllowed('10.1.2.3'), caller.isAddressAllowed('203.0.113.9')]).toEqual([true, false])
  expect(caller.hidden).toContain('personal_info.religion')
  expect(caller.hidden.filter((field) => field.startsWith('next_of_kin'))).toEqual([])
})
