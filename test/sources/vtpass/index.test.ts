import { expect, it } from 'vitest'
import { createReader } from '../../../src/sources/reply.ts'
import reply from '../../../src/sources/vtpass/fixtures/service-variations.json' with { type: 'json' }
import { Content, Envelope, toInternet, toTv, toVariations } from '../../../src/sources/vtpass/index.ts'

const NOTHING = { internet: [], tv: [] }
const read = () =>
  toVariations(createReader('vtpass', Content)(createReader('vtpass', Envelope)(reply).content))

it('reads amounts in both formats, and skips airtime', () => {
  expect(read()).toEqual([
    { code: '624', name: ' 1GB FlexiDaily for 1days - 450 Naira', price: '450' },
    { code: '606', name: '2GB MidNite for 7days - 1,550 Naira', price: '1550.50' },
  ])
})

it('converts the reply to a list of bundles', () => {
  expect(toInternet(NOTHING, 'smile', read())).toEqual({
    as_of: '',
    segment: 'smile',
    type: 'SMILE',
    note: 'From VTpass.',
    bundles: [
      { code: '624', price: '450', description: ' 1GB FlexiDaily for 1days - 450 Naira', duration: '1 day' },
      {
        code: '606',
        price: '1550.50',
        description: '2GB MidNite for 7days - 1,550 Naira',
        duration: '7 days',
      },
    ],
  })
})

it('converts the reply to a list of products', () => {
  expect(toTv(NOTHING, 'SHOWMAX', read()).products.map(({ code, price }) => [code, price])).toEqual([
    ['624', '450'],
    ['606', '1550.50'],
  ])
})
