import { expect, it } from 'vitest'
import reply from '../../../src/sources/baxi/fixtures/multichoice-list.json' with { type: 'json' }
import { Envelope, Packages, toPackages, toSpectranet, toTv } from '../../../src/sources/baxi/index.ts'
import { createReader } from '../../../src/sources/reply.ts'

const read = () => toPackages(createReader('baxi', Packages)(createReader('baxi', Envelope)(reply).data))

it('reads the packages that are sold for one month, with the price of one month', () => {
  expect(read()).toEqual([
    { code: 'COMPE36', name: 'DStv Compact', price: '19000' },
    { code: 'NLTESE36', name: 'Padi', price: '4400' },
  ])
})

it('converts the add-ons of each product to the products of each add-on', () => {
  const addOn = { code: 'ASIADDE36', name: 'Asia', price: '14900' }
  const sold = [
    { product: 'COMPE36', addOns: [addOn] },
    { product: 'NLTESE36', addOns: [addOn] },
  ]
  expect(toTv('DSTV', read(), sold)).toMatchObject({
    type: 'DSTV',
    products: read(),
    add_ons: [{ ...addOn, products: ['COMPE36', 'NLTESE36'] }],
  })
})

it('does not list a voucher of which none can be bought', () => {
  const pins = [0, '0', ' 00 ', -1, false].map((available, index) => ({
    amount: 100 + index,
    description: 'x',
    available,
  }))
  const sold = [1, '100', null, undefined, 'many'].map((available, index) => ({
    amount: 200 + index,
    available,
  }))
  const { bundles } = toSpectranet({ internet: [], tv: [] }, [...pins, ...sold])
  expect(bundles.map(({ price }) => price)).toEqual(['200', '201', '202', '203', '204'])
})
