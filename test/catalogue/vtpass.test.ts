import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readShipped, readVersion } from '../../src/catalogue/versions.ts'
import { CANARY } from '../../src/simulator/faults.ts'
import { mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { openSyncSetup, readAudit, type SyncSetup } from './sync-setup.ts'

const TODAY = new Date().toISOString().slice(0, 10)

let setup: SyncSetup
const open = async () => {
  setup = await openSyncSetup('vtpass', createVtpass)
}
const close = () => setup.close()

const priceOf = (code: string) =>
  setup.test.context.catalogue.listInternetBundles('smile')?.find((bundle) => bundle.code === code)?.price
const newestId = () => setup.deps.table.newestId()

describe('sync vtpass', () => {
  beforeEach(open)
  afterEach(close)

  it('finds no change in the shipped lists', async () => {
    const { outcome, changes } = await setup.sync()
    expect({ outcome, changes }).toEqual({ outcome: 'unchanged', changes: [] })
    expect(await newestId()).toBe(0)
    expect(await readAudit(setup.test)).toEqual(['catalogue_sync unchanged vtpass'])
    expect(await setup.deps.table.listSyncs()).toMatchObject([{ source: 'vtpass', outcome: 'unchanged' }])
  })

  it('saves new prices, does not trim labels, and skips airtime', async () => {
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    const { outcome, id, changes } = await setup.sync()
    expect([outcome, id]).toEqual(['changed', 2])
    expect(new Set(changes.map(({ kind }) => kind))).toEqual(new Set(['price']))
    expect(priceOf('624')).toBe('495')
    const { catalogue } = setup.test.context
    const smile = catalogue.listInternetBundles('smile') ?? []
    expect(smile).toHaveLength(44)
    expect(smile[0]).toMatchObject({
      description: ' 1GB FlexiDaily for 1days - 450 Naira',
      duration: '1 day',
    })
    expect(catalogue.listInternetBundles('spectranet')?.[0]).toMatchObject({ price: '1100', duration: '' })
    expect(await readAudit(setup.test)).toEqual([
      `catalogue_changed ok vtpass, after version 1: 0 added, 0 removed, ${changes.length} prices changed`,
    ])
    expect((await setup.sync()).outcome).toBe('unchanged')
  })

  it('saves only the prices of the DStv add-ons, and does not change GOtv', async () => {
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    const { id } = await setup.sync()
    const { catalogue } = setup.test.context
    const prices = catalogue.findTvProduct('DSTV', 'COMPE36')?.add_ons.map(({ price }) => price)
    expect(prices).toEqual(['6600', '16390', '7700', '26950', '11880'])
    expect(catalogue.tvProducts.find(({ code }) => code === 'COMPE36')?.price).toBe('19000')
    expect(catalogue.tvProducts.find(({ code }) => code === 'GOTVMAX')?.price).toBe('8500')
    expect(catalogue.tvProducts.find(({ code }) => code === 'nova')?.price).toBe('2310')
    const { files } = await readVersion(setup.deps.table, id)
    const ages = Object.fromEntries(files.tv.map(({ type, as_of, note }) => [type, [as_of, note]]))
    expect(ages.DSTV).toEqual([TODAY, 'Add-on prices from VTpass; all else as of 2026-02-01.'])
    expect(ages.GOTV?.[0]).toBe('2026-02-01')
    expect(catalogue.asOf.find(({ name }) => name === 'smile')?.as_of).toBe(TODAY)
    expect(catalogue.asOf.find(({ name }) => name === 'sme')?.as_of).toBe('2026-11-15')
  })

  it('does not change a list that the vendor no longer sells', async () => {
    const { internet, tv } = raisePrices(setup.vendorLists.files)
    setup.vendorLists.files = { internet, tv: tv.filter(({ type }) => type !== 'SHOWMAX') }
    await setup.sync()
    expect(setup.test.context.catalogue.tvProducts.find(({ type }) => type === 'SHOWMAX')?.price).toBe('2900')
  })

  it.each([
    ['012, without a text', { code: '012', response_description: 'PRODUCT DOES NOT EXIST' }],
    ['012, with a text', { code: '012', content: { errors: 'Product does not exist' } }],
    ['011, in another case', { code: '011', content: { errors: ' service is not valid.' } }],
  ])(
    'does not change a list that the vendor does not sell by %s, and changes the others',
    async (_, body) => {
      const { internet, tv } = raisePrices(setup.vendorLists.files)
      setup.vendorLists.files = { internet, tv: tv.filter(({ type }) => type !== 'SHOWMAX') }
      setup.vendor.alter((sent) => ((sent as { code?: string }).code === '011' ? body : sent))
      expect((await setup.sync()).outcome).toBe('changed')
      expect(priceOf('624')).toBe('495')
      expect(setup.test.context.catalogue.tvProducts.find(({ type }) => type === 'SHOWMAX')?.price).toBe(
        '2900',
      )
    },
  )

  it.each([
    ['011', { errors: 'serviceID is required' }],
    ['011', { errors: '' }],
    ['011', undefined],
    ['016', { errors: 'Service is Not Valid' }],
  ])('is refused with the code %s and %j', async (code, content) => {
    setup.vendorLists.files = { internet: setup.vendorLists.files.internet, tv: [] }
    setup.vendor.alter((sent) => ((sent as { code?: string }).code === '011' ? { code, content } : sent))
    await expect(setup.sync()).rejects.toMatchObject({ reason: 'bad_response', problem: 'rejected' })
  })

  it('changes nothing in a dry run', async () => {
    setup.vendorLists.files = raisePrices(setup.vendorLists.files)
    const { outcome, changes } = await setup.sync({ dryRun: true })
    expect([outcome, changes.length > 50]).toEqual(['would change', true])
    expect([await newestId(), priceOf('624'), await readAudit(setup.test)]).toEqual([0, '450', []])
  })
})

describe('implausible lists', () => {
  beforeEach(open)
  afterEach(close)

  const keep = (list: string, wanted: (index: number) => boolean) => {
    let index = 0
    setup.vendorLists.files = mapItems(setup.vendorLists.files, (item, of) =>
      of !== list || wanted(index++) ? item : undefined,
    )
  }

  it.each([
    ['empty', () => false, 'The list smile would be empty.'],
    [
      'without more than half of the codes',
      (index: number) => index < 21,
      'The list smile would lose 23 of its 44 codes.',
    ],
    [
      'without half of the codes',
      (index: number) => index < 22,
      'The list smile would lose 22 of its 44 codes.',
    ],
  ])('%s: the old lists stay in force, unless forced', async (_what, wanted, sentence) => {
    keep('smile', wanted)
    await expect(setup.sync()).rejects.toMatchObject({
      name: 'AwaitsReview',
      message: `${sentence} The lists stay unchanged. Accept or reject the new lists: tabbat catalogue review 1`,
    })
    expect([await newestId(), priceOf('624')]).toEqual([0, '450'])
    expect(await readAudit(setup.test)).toEqual(['catalogue_sync implausible vtpass'])
    expect(await setup.sync({ dryRun: true })).toMatchObject({ doubts: [sentence] })
    expect(await setup.sync({ force: true })).toMatchObject({ outcome: 'changed', doubts: [sentence] })
  })

  it('without less than half of the codes are plausible', async () => {
    keep('smile', (index) => index < 23)
    const { outcome, changes } = await setup.sync()
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
  ] as const)('%s: nothing changes, and the outcome in the audit log is %s', async (fault, reason) => {
    setup.vendorLists.files = raisePrices(readShipped())
    setup.vendor.fail(fault)
    await expect(setup.sync({ force: true })).rejects.toMatchObject({ name: 'SourceError', reason })
    expect([await newestId(), priceOf('624')]).toEqual([0, '450'])
    expect((await readAudit(setup.test)).at(-1)).toBe(`catalogue_sync ${reason} vtpass`)
    setup.vendor.fail(undefined)
  })

  it.each([
    ['a code with a blank', { code: '6 24' }],
    ['no code', { code: '' }],
  ])('%s in a list: the list is refused, even with force', async (_what, change) => {
    setup.vendorLists.files = mapItems(readShipped(), (item) =>
      item.code === '624' ? { ...item, ...change } : item,
    )
    await expect(setup.sync({ force: true })).rejects.toMatchObject({
      name: 'UnusableLists',
      message: expect.stringMatching(
        /^vtpass sent a list that cannot be used: smile.json: \/bundles\/0\/code must be a code/,
      ),
    })
    expect((await readAudit(setup.test)).at(-1)).toBe('catalogue_sync bad_response vtpass')
  })

  it('a negative price: the list is refused', async () => {
    setup.vendorLists.files = mapItems(readShipped(), (item) => ({ ...item, price: `-${item.price}` }))
    await expect(setup.sync({ force: true })).rejects.toMatchObject({ reason: 'bad_response' })
  })
  it('is called again, and the audit log contains none of its text', async () => {
    setup.vendorLists.files = raisePrices(readShipped())
    expect((await setup.sync()).outcome).toBe('changed')
    expect((await readAudit(setup.test)).join()).not.toContain(CANARY)
  })
})
