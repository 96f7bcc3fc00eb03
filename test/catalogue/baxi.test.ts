import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBaxi } from '../../src/simulator/baxi.ts'
import { mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { openSyncSetup, readAudit, type SyncSetup } from './sync-setup.ts'

let setup: SyncSetup
beforeEach(async () => {
  setup = await openSyncSetup('baxi', createBaxi)
})
afterEach(() => setup.close())

describe('sync baxi', () => {
  it('finds no change in the shipped lists', async () => {
    expect(await setup.sync()).toMatchObject({ outcome: 'unchanged', changes: [] })
  })

  it('saves products, add-ons and bundles with the price of one month', async () => {
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    await setup.sync()
    const { catalogue } = setup.test.context
    expect(catalogue.tvProducts.find(({ code }) => code === 'COMPE36')?.price).toBe('20900')
    expect(catalogue.tvProducts.find(({ code }) => code === 'GOTVMAX')?.price).toBe('9350')
    expect(catalogue.findTvProduct('DSTV', 'COMPE36')?.add_ons.map(({ price }) => price)).toEqual([
      '6600',
      '16390',
      '7700',
      '26950',
      '11880',
    ])
    expect(catalogue.findTvProduct('DSTV', 'NLTESE36')?.add_ons).toHaveLength(1)
    expect(catalogue.listInternetBundles('smile')?.[0]).toMatchObject({ price: '495', duration: '1 day' })
    expect(catalogue.tvProducts.find(({ code }) => code === 'nova')?.price).toBe('2100')
  })

  it('saves the list of StarTimes if the operator wants it from this vendor', async () => {
    await setup.close()
    setup = await openSyncSetup('baxi', createBaxi, { TABBAT_BAXI_STARTIMES: 'on' })
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    await setup.sync()
    expect(setup.test.context.catalogue.tvProducts.find(({ code }) => code === 'nova')?.price).toBe('2310')
  })

  it('creates codes for vouchers of a new price, and keeps those of known prices', async () => {
    setup.vendorLists.files = mapItems(setup.vendorLists.files, (item) =>
      item.code === 'vt-7000' ? { ...item, price: '8000', description: 'New voucher' } : item,
    )
    await setup.sync()
    const codes = setup.test.context.catalogue.listInternetBundles('spectranet')?.map(({ code }) => code)
    expect(codes).toEqual(['vt-1000', 'vt-2000', 'vt-5000', 'pin-8000', 'vt-10000'])
  })

  it('keeps the lists when half of the products are missing', async () => {
    setup.vendorLists.files = mapItems(setup.vendorLists.files, (item, list) =>
      list === 'GOTV' && item.code !== 'GOHAN' ? undefined : item,
    )
    await expect(setup.sync()).rejects.toThrow('The list gotv would lose 5 of its 6 codes.')
  })
})

describe('a vendor that fails', () => {
  it('changes nothing, and the audit log has the reason', async () => {
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    for (const [fault, reason] of [
      ['html_with_200', 'bad_response'],
      ['missing_fields', 'bad_response'],
      ['error_in_200', 'unreachable'],
      ['unauthorised', 'refused'],
      ['slow_headers', 'timeout'],
    ] as const) {
      setup.vendor.fail(fault)
      await expect(setup.sync(), fault).rejects.toMatchObject({ name: 'SourceError', reason })
      expect(await setup.deps.table.newestId()).toBe(0)
      expect((await readAudit(setup.test)).at(-1)).toBe(`catalogue_sync ${reason} baxi`)
    }
  })
})
