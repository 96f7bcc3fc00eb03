import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readShipped, readVersion } from '../../src/catalogue/versions.ts'
import { PLANTED } from '../../src/simulator/faults.ts'
import { mapGoods, raisePrices } from '../../src/simulator/price-list.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { type Counter, openCounter, readAudit } from './shop.ts'

const TODAY = new Date().toISOString().slice(0, 10)

let counter: Counter
const open = async () => {
  counter = await openCounter('vtpass', createVtpass)
}
const close = () => counter.close()

const priceOf = (code: string) =>
  counter.test.context.catalogue.listInternetBundles('smile')?.find((bundle) => bundle.code === code)?.price
const newestId = () => counter.desk.table.newestId()

describe('sync vtpass', () => {
  beforeEach(open)
  afterEach(close)

  it('finds nothing new in the lists that shipped', async () => {
    const { outcome, changes } = await counter.sync()
    expect({ outcome, changes }).toEqual({ outcome: 'unchanged', changes: [] })
    expect(await newestId()).toBe(0)
    expect(await readAudit(counter.test)).toEqual(['catalogue_sync unchanged vtpass'])
    expect(await counter.desk.table.listSyncs()).toMatchObject([{ source: 'vtpass', outcome: 'unchanged' }])
  })

  it('takes new prices over, keeps labels as they came, and knows airtime is no bundle', async () => {
    counter.shop.files = raisePrices(counter.shop.files)
    const { outcome, id, changes } = await counter.sync()
    expect([outcome, id]).toEqual(['changed', 2])
    expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(['price']))
    expect(priceOf('624')).toBe('495')
    const { catalogue } = counter.test.context
    const smile = catalogue.listInternetBundles('smile') ?? []
    expect(smile).toHaveLength(44)
    expect(smile[0]).toMatchObject({
      description: ' 1GB FlexiDaily for 1days - 450 Naira',
      duration: '1 day',
    })
    expect(catalogue.listInternetBundles('spectranet')?.[0]).toMatchObject({ price: '1100', duration: '' })
    expect(await readAudit(counter.test)).toEqual([
      `catalogue_changed ok vtpass, after version 1: 0 added, 0 removed, ${changes.length} prices changed`,
    ])
    expect((await counter.sync()).outcome).toBe('unchanged')
  })

  it('takes only the prices of the DStv add-ons, and leaves GOtv alone', async () => {
    counter.shop.files = raisePrices(counter.shop.files)
    const { id } = await counter.sync()
    const { catalogue } = counter.test.context
    const prices = catalogue.findTvProduct('DSTV', 'COMPE36')?.add_ons.map(({ price }) => price)
    expect(prices).toEqual(['6600', '16390', '7700', '26950', '11880'])
    expect(catalogue.tvProducts.find(({ code }) => code === 'COMPE36')?.price).toBe('19000')
    expect(catalogue.tvProducts.find(({ code }) => code === 'GOTVMAX')?.price).toBe('8500')
    expect(catalogue.tvProducts.find(({ code }) => code === 'nova')?.price).toBe('2310')
    const { files } = await readVersion(counter.desk.table, id)
    const ages = Object.fromEntries(files.tv.map(({ type, as_of, note }) => [type, [as_of, note]]))
    expect(ages.DSTV).toEqual([TODAY, 'Add-on prices from VTpass; all else as of 2026-02-01.'])
    expect(ages.GOTV?.[0]).toBe('2026-02-01')
    expect(catalogue.asOf.find(({ name }) => name === 'smile')?.as_of).toBe(TODAY)
    expect(catalogue.asOf.find(({ name }) => name === 'sme')?.as_of).toBe('2026-11-15')
  })

  it('leaves a list alone that the vendor no longer sells', async () => {
    const { internet, tv } = raisePrices(counter.shop.files)
    counter.shop.files = { internet, tv: tv.filter(({ type }) => type !== 'SHOWMAX') }
    await counter.sync()
    expect(counter.test.context.catalogue.tvProducts.find(({ type }) => type === 'SHOWMAX')?.price).toBe(
      '2900',
    )
  })

  it('changes nothing when it is only to look', async () => {
    counter.shop.files = raisePrices(counter.shop.files)
    const { outcome, changes } = await counter.sync({ dryRun: true })
    expect([outcome, changes.length > 50]).toEqual(['would change', true])
    expect([await newestId(), priceOf('624'), await readAudit(counter.test)]).toEqual([0, '450', []])
  })
})

describe('implausible lists', () => {
  beforeEach(open)
  afterEach(close)

  const keep = (list: string, wanted: (index: number) => boolean) => {
    let index = 0
    counter.shop.files = mapGoods(counter.shop.files, (item, of) =>
      of !== list || wanted(index++) ? item : undefined,
    )
  }

  it.each([
    ['empty', () => false, 'The list smile would be empty.'],
    ['more than half gone', (index: number) => index < 21, 'The list smile would lose 23 of its 44 codes.'],
    ['half gone', (index: number) => index < 22, 'The list smile would lose 22 of its 44 codes.'],
  ])('%s: the old ones stay, unless forced', async (_what, wanted, sentence) => {
    keep('smile', wanted)
    await expect(counter.sync()).rejects.toMatchObject({
      name: 'AwaitsReview',
      message: `${sentence} The lists stay as they are; these wait for your decision: tabbat catalogue review 1`,
    })
    expect([await newestId(), priceOf('624')]).toEqual([0, '450'])
    expect(await readAudit(counter.test)).toEqual(['catalogue_sync implausible vtpass'])
    expect(await counter.sync({ dryRun: true })).toMatchObject({ doubts: [sentence] })
    expect(await counter.sync({ force: true })).toMatchObject({ outcome: 'changed', doubts: [sentence] })
  })

  it('less than half gone is a change like others', async () => {
    keep('smile', (index) => index < 23)
    const { outcome, changes } = await counter.sync()
    expect([outcome, changes.length]).toEqual(['changed', 21])
  })
})

describe('a vendor that fails', () => {
  beforeAll(open)
  afterAll(close)

  it.each([
    ['html_with_200', 'bad_response'],
    ['malformed_json', 'bad_response'],
    ['truncated', 'bad_response'],
    ['gzip_bomb', 'bad_response'],
    ['redirect', 'bad_response'],
    ['missing_fields', 'bad_response'],
    ['failing', 'unreachable'],
    ['error_in_200', 'unreachable'],
    ['reset', 'unreachable'],
    ['throttled', 'throttled'],
    ['unauthorised', 'refused'],
    ['slow_headers', 'timeout'],
    ['slow_body', 'timeout'],
  ] as const)('%s: nothing changes, and the audit says %s', async (fault, reason) => {
    counter.shop.files = raisePrices(readShipped())
    counter.vendor.fail(fault)
    await expect(counter.sync({ force: true })).rejects.toMatchObject({ name: 'SourceError', reason })
    expect([await newestId(), priceOf('624')]).toEqual([0, '450'])
    expect((await readAudit(counter.test)).at(-1)).toBe(`catalogue_sync ${reason} vtpass`)
    counter.vendor.fail(undefined)
  })

  it.each([
    ['a code with a blank', { code: '6 24' }],
    ['no code', { code: '' }],
  ])('%s in a list: it is not taken, even by force', async (_what, change) => {
    counter.shop.files = mapGoods(readShipped(), (item) =>
      item.code === '624' ? { ...item, ...change } : item,
    )
    await expect(counter.sync({ force: true })).rejects.toMatchObject({
      name: 'Unusable',
      message: expect.stringMatching(
        /^vtpass sent a list that cannot be used: smile.json: \/bundles\/0\/code must be a code/,
      ),
    })
    expect((await readAudit(counter.test)).at(-1)).toBe('catalogue_sync bad_response vtpass')
  })

  it('a price that is none: it is not taken', async () => {
    counter.shop.files = mapGoods(readShipped(), (item) => ({ ...item, price: `-${item.price}` }))
    await expect(counter.sync({ force: true })).rejects.toMatchObject({ reason: 'bad_response' })
  })
  it('is asked again, and its own words are nowhere', async () => {
    counter.shop.files = raisePrices(readShipped())
    expect((await counter.sync()).outcome).toBe('changed')
    expect((await readAudit(counter.test)).join()).not.toContain(PLANTED)
  })
})
