import { expect, it } from 'vitest'
import { createReader } from '../wire.ts'
import reply from './fixtures/multichoice-list.json' with { type: 'json' }
import { toPackages, toTv } from './map.ts'
import { Envelope, Packages } from './wire.ts'

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
