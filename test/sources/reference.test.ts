import { describe, expect, it } from 'vitest'
import { toCleanReference } from '../../src/sources/record.ts'

const SECRETS = ['12345678901', '8031234567']
const RECORD = {
  bvn_number: '22345678901',
  nin: '33345678901',
  name_on_card: 'OBI ADAEZE',
  next_of_kin: { firstname: 'Olúwaṣẹ́gun' },
  personal_info: {
    first_name: 'Adaeze',
    last_name: 'Obi',
    full_name: 'Adaeze Obi',
    phone_number: '08051112223',
    phone_number_2: null,
    gender: 'Female',
  },
}

describe("a vendor's reference", () => {
  it.each(['dj-99-x', '77', '3f2504e0-4f89-11d3-9a0c-0305e82c3301', 'ver_7Gk2', '20261115120000123456'])(
    '%s is recorded',
    (reference) => {
      expect(toCleanReference(reference, SECRETS, RECORD)).toBe(reference)
    },
  )

  it.each([
    ['the requested number', 'x12345678901'],
    ['ten to thirteen digits', '9031234567'],
    ['thirteen digits', '2349031234567'],
    ['no digit', 'ADAEZE-OKORO'],
    ['the number of the record', 'ref:22345678901'],
    ['the NIN of the record', 'ref-333-4567-8901-z'],
    ['the phone of the record', 'r-2348051112223'],
    ['a name', 'kyc-adaeze-1'],
    ['a short name', '1-OBI-2'],
    ['a name without its accents', 'x1-oluwasegun'],
    ['another word of the record', '1.female.2'],
  ])('with %s is not recorded', (_what, reference) => {
    expect(toCleanReference(reference, SECRETS, RECORD)).toBeUndefined()
  })
})
