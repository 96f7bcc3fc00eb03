import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toLocalPhone, toPhoneCore } from '../../src/contract/person.ts'

const core = fc.stringMatching(/^[789][01][0-9]{8}$/)
const prefix = fc.constantFrom('', '0', '234', '+234', '00234')
const separators = fc.array(fc.stringMatching(/^[ ().-]{0,2}$/), { minLength: 16, maxLength: 16 })

it('finds the same ten digits in every spelling', () => {
  fc.assert(
    fc.property(core, prefix, separators, (digits, start, gaps) => {
      const plain = start + digits
      const spaced = [...plain].map((character, index) => character + gaps[index]).join('')
      expect(toPhoneCore(plain)).toBe(digits)
      expect(toPhoneCore(spaced)).toBe(digits)
      expect(toPhoneCore(toLocalPhone(digits))).toBe(digits)
    }),
  )
})

it.each([
  '',
  '0',
  '0803123456',
  '080312345678',
  '0503123456 7',
  '+1 8031234567',
  '234 0803 123 4567',
  '08031234567x',
  '０８０３１２３４５６７',
])('refuses %j', (text) => {
  expect(toPhoneCore(text)).toBeUndefined()
})

it('takes no longer for a long text that almost fits', () => {
  expect(toPhoneCore(`${' ().-'.repeat(3000)}080312345`)).toBeUndefined()
})
