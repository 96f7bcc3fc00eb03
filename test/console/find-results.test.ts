import { describe, expect, it } from 'vitest'
import { findResults } from '../../console/src/shell/find-results.ts'

const REFERENCE = `ver_${'0'.repeat(36)}`
const SEARCHABLE = {
  pages: [
    { name: 'keys', title: 'Keys' },
    { name: 'requests', title: 'Requests' },
    { name: 'audit', title: 'Audit' },
  ],
  keys: [
    { id: 'Ab3dEf7h', name: 'Loans app' },
    { id: 'Zz3dEf7h', name: 'Key of the till' },
  ],
}
const find = (text: string) => findResults(text, SEARCHABLE).map(({ title, href }) => `${title} ${href}`)

describe('the search', () => {
  it.each([
    ['', []],
    ['   ', []],
    ['key', ['Keys #/keys', 'Key of the till #/keys/Zz3dEf7h']],
    ['LOANS', ['Loans app #/keys/Ab3dEf7h']],
    ['ab3d', ['Loans app #/keys/Ab3dEf7h']],
    [` ${REFERENCE} `, [`${REFERENCE} #/audit/${REFERENCE}`]],
    [
      '0192f3a4-5b6c-7d8e-9f00-112233445566',
      ['0192f3a4-5b6c-7d8e-9f00-112233445566 #/requests/0192f3a4-5b6c-7d8e-9f00-112233445566'],
    ],
    ['nothing like it', []],
  ])('for %j finds %j', (text, found) => {
    expect(find(text)).toEqual(found)
  })

  it.each(['AB012345678910YZ', 'tbt_admin_0123456789abcdef'])('does not take %s for a request id', (text) => {
    expect(find(text)).toEqual([])
  })

  it.each(['12345678901', '0803 123 4567', '+234 803 123 4567'])(
    'puts no number into an address: %s',
    (number) => {
      expect(find(number)).toEqual(['Search for a person #/audit'])
    },
  )

  it('takes only the public id of a whole key', () => {
    const found = find(`tbt_live_Ab3dEf7h${'x'.repeat(38)}`)
    expect(found).toEqual(['Loans app #/keys/Ab3dEf7h'])
    expect(find(`tbt_live_Unknown0${'x'.repeat(38)}`)).toEqual([])
  })
})
