import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { createCatalogue } from '../../src/catalogue/catalogue.ts'
import { InternetBundle, SmeBundle, TvAddOn, TvAddOnsRequest } from '../../src/contract/bundles.ts'
import { readFolder } from './read-folder.ts'

const catalogue = createCatalogue(readFolder('src/catalogue/data'))
const smile = catalogue.listInternetBundles('smile') ?? []
const addOnCodes = (type: 'DSTV' | 'GOTV', code: string) =>
  catalogue.findTvProduct(type, code)?.add_ons.map((addOn) => addOn.add_on_product_code)

const ajv = new Ajv({ strict: false })

describe('internet bundles', () => {
  it('names the providers that ship with it', () => {
    expect(catalogue.providers).toEqual(['smile', 'spectranet'])
  })

  it('lists Smile bundle 624 for 450 and does not trim its label', () => {
    expect(smile.find((bundle) => bundle.code === '624')).toEqual({
      type: 'SMILE',
      code: '624',
      amount: '450',
      price: '450',
      description: ' 1GB FlexiDaily for 1days - 450 Naira',
      duration: '1 day',
    })
    expect(smile.find((bundle) => bundle.code === '627')?.description).toBe(
      ' 2GB FlexiWeekly  for 7days - 1550 Naira',
    )
  })

  it('lists new codes in place of old ones, and no bundle that is no longer sold', () => {
    const codes = smile.map((bundle) => bundle.code)
    expect(codes).toHaveLength(44)
    expect(codes).toContain('722')
    for (const retired of ['611', '610', '612', '413', '414', '415']) expect(codes).not.toContain(retired)
  })

  it('lists Spectranet vouchers without a duration', () => {
    const vouchers = catalogue.listInternetBundles('spectranet') ?? []
    expect(vouchers.map((bundle) => bundle.price)).toEqual(['1000', '2000', '5000', '7000', '10000'])
    expect(new Set(vouchers.map((bundle) => bundle.duration))).toEqual(new Set(['']))
  })

  it('has the same price and duration in the label and in the fields of every Smile bundle', () => {
    for (const { description, price, duration } of smile) {
      const days = Number.parseInt(duration, 10)
      expect(description).toMatch(new RegExp(` for ${days}days - ${price} Naira$`))
    }
  })

  it('accepts the segment in any case and finds no other', () => {
    expect(catalogue.listInternetBundles('SmIlE')).toBe(smile)
    expect(catalogue.listInternetBundles('swift')).toBeUndefined()
    expect(catalogue.listInternetBundles('constructor')).toBeUndefined()
  })
})

describe('SME bundles', () => {
  it('lists the 22 sizes in ascending order', () => {
    const bundles = catalogue.listSmeBundles()
    expect(bundles).toHaveLength(22)
    expect(bundles[0]).toEqual({ description: 'SME DATA 50MB', code: 'sme_data_50mb' })
    expect(bundles[21]).toEqual({ description: 'SME DATA 100GB', code: 'sme_data_100gb' })
  })
})

describe('TV products', () => {
  it('offers five add-ons with Compact', () => {
    expect(addOnCodes('DSTV', 'COMPE36')).toEqual([
      'HDPVRE36',
      'ASIADDE36',
      'FRN7E36',
      'FRN15E36',
      'FRN11E36',
    ])
  })

  it('offers only XtraView with Padi', () => {
    expect(catalogue.findTvProduct('DSTV', 'NLTESE36')?.add_ons).toEqual([
      {
        add_on_product_code: 'HDPVRE36',
        product_code: 'NLTESE36',
        name: 'HDPVR/XtraView',
        price: '6000',
        type: 'DSTV',
      },
    ])
  })

  it('lists GOtv products without add-ons', () => {
    expect(catalogue.findTvProduct('GOTV', 'GOTVMAX')).toEqual({ product_code: 'GOTVMAX', add_ons: [] })
  })

  it('does not find retired, foreign or invented products', () => {
    for (const code of ['ACSSE36', 'COFAME36', 'FTAE36', 'GOTVMAX', 'NOPE']) {
      expect(catalogue.findTvProduct('DSTV', code)).toBeUndefined()
    }
    expect(catalogue.findTvProduct('GOTV', 'NOPE')).toBeUndefined()
  })

  it('accepts a code in any case and answers in its own spelling', () => {
    const compact = catalogue.findTvProduct('DSTV', 'compe36')
    expect(compact?.product_code).toBe('COMPE36')
    expect(catalogue.findTvProduct('STARTIMES', 'NovaWeek')?.product_code).toBe('novaweek')
  })

  it('answers an empty list for any StarTimes or Showmax code', () => {
    for (const type of ['STARTIMES', 'SHOWMAX'] as const) {
      expect(catalogue.findTvProduct(type, 'Brand-New')).toEqual({ product_code: 'Brand-New', add_ons: [] })
    }
  })

  it('enumerates every product, each of which can be found', () => {
    expect(catalogue.tvProducts).toHaveLength(28)
    expect(catalogue.tvProducts).toContainEqual({
      type: 'DSTV',
      code: 'COMPE36',
      name: 'DStv Compact',
      price: '19000',
    })
    for (const { type, code } of catalogue.tvProducts) {
      expect(ajv.validate(TvAddOnsRequest, { type, productCode: code })).toBe(true)
      expect(catalogue.findTvProduct(type, code)?.product_code).toBe(code)
    }
  })
})

describe('every list', () => {
  it('satisfies the contract, with amount equal to price', () => {
    const internet = catalogue.providers.flatMap((segment) => catalogue.listInternetBundles(segment) ?? [])
    const addOns = catalogue.tvProducts.flatMap(
      ({ type, code }) => catalogue.findTvProduct(type, code)?.add_ons ?? [],
    )
    expect(addOns).toHaveLength(21)
    for (const bundle of internet) {
      expect(ajv.validate(InternetBundle, bundle)).toBe(true)
      expect(bundle.amount).toBe(bundle.price)
    }
    for (const bundle of catalogue.listSmeBundles()) expect(ajv.validate(SmeBundle, bundle)).toBe(true)
    for (const addOn of addOns) expect(ajv.validate(TvAddOn, addOn)).toBe(true)
  })

  it('is the same frozen object each time', () => {
    const lists = () => [
      catalogue.listInternetBundles('smile'),
      catalogue.listSmeBundles(),
      catalogue.findTvProduct('DSTV', 'COMPE36')?.add_ons,
      catalogue.findTvProduct('GOTV', 'GOTVMAX')?.add_ons,
      catalogue.findTvProduct('SHOWMAX', 'unknown')?.add_ons,
    ]
    const again = lists()
    for (const [index, list] of lists().entries()) {
      expect(list).toBe(again[index])
      expect(Object.isFrozen(list)).toBe(true)
      expect(list?.every((item) => Object.isFrozen(item))).toBe(true)
    }
  })

  it('has a date', () => {
    expect(catalogue.asOf.map(({ name, as_of }) => `${name} ${as_of}`)).toEqual([
      'smile 2024-12-07',
      'spectranet 2022-01-01',
      'sme 2026-11-15',
      'dstv 2026-02-01',
      'gotv 2026-02-01',
      'startimes 2026-02-01',
      'showmax 2022-01-01',
    ])
    expect(catalogue.asOf[1]?.note).toContain('no date')
  })
})
