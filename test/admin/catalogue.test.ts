import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createListVendor, type ListVendor, mapItems } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { bearer } from '../app.ts'
import { readRows } from './audit-rows.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

type List = { title: string; as_of: string; items: { code: string; price: string; note: string }[] }
type View = { version: number; lists: List[]; versions: { id: number; author: string; origin: string }[] }
type InternetList = { segment: string; bundles: { code: string; price: string }[] }
type Files = { internet: InternetList[]; tv: unknown[] }

let at: TestConsole
let shop: ListVendor
let vendor: StandIn
let viewer: string
let operator: string
beforeAll(async () => {
  shop = createListVendor()
  vendor = await openStandIn(createVtpass(shop))
  at = await openTestConsole(vendor.settings)
  viewer = await at.openSession('viewer')
  operator = await at.openSession('operator', 'bola')
})
afterAll(async () => {
  await at.close()
  await vendor.close()
})

const get = (path: string) => at.request(`/admin/catalogue${path}`, { cookie: viewer })
const post = (path: string, body: object) => at.request(`/admin/catalogue${path}`, { cookie: operator, body })
const view = async () => (await get('')).json() as unknown as View
const exported = async () => (await get('/export')).json() as unknown as Files
const listOf = async (title: string) => (await view()).lists.find((list) => list.title === title)

/** The lists with another price for the first bundle of the first provider. */
async function withPrice(price: string): Promise<Files> {
  const files = await exported()
  const [first, ...others] = files.internet as [InternetList]
  const [bundle, ...bundles] = first.bundles as [InternetList['bundles'][number]]
  return { ...files, internet: [{ ...first, bundles: [{ ...bundle, price }, ...bundles] }, ...others] }
}
const importLists = (content: unknown, options: object = {}) =>
  post('/import', { content, dry_run: false, force: false, ...options })

describe('the catalogue', () => {
  it('shows every list with its date, and the shipped version', async () => {
    const { version, lists, versions } = await view()
    expect([version, versions]).toEqual([1, [{ id: 1, at: null, origin: 'shipped', author: '' }]])
    const titles = lists.map(({ title }) => title)
    expect(titles).toEqual(
      expect.arrayContaining(['internet smile', 'tv DSTV products', 'tv DSTV add-ons', 'SME']),
    )
    for (const { as_of } of lists) expect(as_of).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect((await listOf('SME'))?.items).toHaveLength(22)
    expect((await listOf('tv DSTV add-ons'))?.items[0]?.note).not.toBe('')
  })

  it('imports a file: callers get it at once, history and audit name the account', async () => {
    const answer = await importLists(await withPrice('323'))
    expect(answer.json()).toMatchObject({ outcome: 'changed', version: 2, changes: [{ price_after: '323' }] })
    const [{ title, items } = { title: '', items: [] }] = (await view()).lists
    expect(items[0]?.price).toBe('323')
    const url = `/api/v2/internet/data/${title.replace('internet ', '')}/lookup`
    expect((await at.app.inject({ method: 'GET', url, headers: bearer() })).body).toContain('"price":"323"')
    expect((await view()).versions[0]).toMatchObject({ id: 2, author: 'bola', origin: 'import' })
    expect((await readRows(at, 'catalogue_changed')).at(-1)?.detail).toMatch(/^import, .*; by bola$/)
  })

  it('shows the differences between two versions', async () => {
    const { changes } = (await get('/diff?from=1&to=2')).json() as { changes: unknown[] }
    expect(changes).toMatchObject([{ change: 'price', price_after: '323' }])
    expect((await get('/diff?from=1&to=99')).status).toBe(409)
    expect((await get('/diff?from=one&to=2')).status).toBe(422)
  })

  it('changes nothing in a dry run', async () => {
    const answer = await importLists(await withPrice('456'), { dry_run: true })
    expect(answer.json()).toMatchObject({ outcome: 'dry_run', version: 2, changes: [{ price_after: '456' }] })
    expect((await view()).version).toBe(2)
  })

  it('refuses implausible lists without force', async () => {
    const files = await exported()
    const empty = { ...files, internet: [] }
    const doubtful = await importLists(empty)
    expect(doubtful.status).toBe(409)
    expect(doubtful.json().message).toMatch(/would be empty\. The active lists are unchanged\./)
    expect((await view()).version).toBe(2)
    expect((await importLists(empty, { force: true })).json()).toMatchObject({
      outcome: 'changed',
      version: 3,
    })
    expect((await importLists({ sme: 1 })).status).toBe(409)
    const sme = await importLists({ bundles: [] })
    expect(sme.json()).toMatchObject({ message: expect.stringContaining('looks like the SME list') })
    expect((await importLists('text')).status).toBe(409)
  })

  it('rolls back to an older version, as a new one', async () => {
    expect((await post('/rollback', { to: 2 })).json()).toMatchObject({ outcome: 'changed', version: 4 })
    expect((await view()).versions[0]).toMatchObject({ origin: 'rollback of 2', author: 'bola' })
    expect((await post('/rollback', { to: 77 })).status).toBe(409)
  })

  it('accepts a file of one megabyte and refuses three', async () => {
    const padded = (bytes: number) => ({ ...{ padding: 'x'.repeat(bytes) }, internet: [], tv: [] })
    expect((await importLists(padded(1024 * 1024))).status).toBe(409)
    const tooLarge = await importLists(padded(3 * 1024 * 1024))
    expect([tooLarge.status, tooLarge.json().message]).toEqual([413, 'The request body is too large.'])
  })
})

describe('a review', () => {
  type Review = { id: number; source: string; doubts: string[] }
  const sync = () => post('/sync', { source: 'vtpass', dry_run: false, force: false })
  const reviews = async () => ((await view()) as unknown as { reviews: Review[] }).reviews
  const decide = (id: number, decision: string) => post('/review', { id, decision })
  const times = (factor: number) =>
    mapItems(createListVendor().files, (item) => ({ ...item, price: String(Number(item.price) * factor) }))

  it('shows the changes, and viewers cannot decide', async () => {
    shop.files = times(1000)
    const refused = await sync()
    expect([refused.status, refused.json().message]).toEqual([
      409,
      expect.stringContaining('wait for review'),
    ])
    const [review] = await reviews()
    expect(review).toMatchObject({
      source: 'vtpass',
      doubts: expect.arrayContaining([expect.stringContaining('times')]),
    })
    const { changes } = (await get(`/review?id=${review?.id}`)).json() as {
      changes: { price_after: string }[]
    }
    expect(changes.length).toBeGreaterThan(40)
    const body = { id: review?.id, decision: 'accept' }
    expect((await at.request('/admin/catalogue/review', { cookie: viewer, body })).status).toBe(403)
  })

  it('can be rejected, and the audit names the account', async () => {
    const { version } = await view()
    const [review] = await reviews()
    expect((await decide(review?.id ?? 0, 'reject')).json()).toMatchObject({ outcome: 'rejected', version })
    expect([await reviews(), (await view()).version]).toEqual([[], version])
    expect((await readRows(at, 'catalogue_reviewed')).at(-1)).toMatchObject({
      outcome: 'rejected',
      detail: `review ${review?.id} of vtpass; by bola`,
    })
    expect((await sync()).json().message).toContain('wait')
    expect(await reviews()).toEqual([])
    expect((await decide(review?.id ?? 0, 'accept')).status).toBe(409)
  })

  it('can be accepted: callers get the lists at once', async () => {
    shop.files = times(3)
    await sync()
    const [review] = await reviews()
    expect((await decide(review?.id ?? 0, 'accept')).json()).toMatchObject({ outcome: 'changed' })
    expect(at.context.catalogue.listInternetBundles('smile')?.[0]?.price).toBe('1350')
    expect((await view()).versions[0]).toMatchObject({ origin: 'vtpass', author: 'bola' })
    expect((await readRows(at, 'catalogue_reviewed')).at(-1)).toMatchObject({ outcome: 'accepted' })
    shop.files = createListVendor().files
  })
})

describe('a sync', () => {
  const sync = (options: object = {}) =>
    post('/sync', { source: 'vtpass', dry_run: false, force: false, ...options })

  it('fetches the lists of a configured vendor', async () => {
    expect((await view()) as unknown).toMatchObject({ can_sync: ['vtpass'] })
    const looked = (await sync({ dry_run: true, force: true })).json()
    expect(looked.outcome).toBe('dry_run')
    expect((await sync({ force: true })).json().outcome).toBe('changed')
    const { versions, syncs } = (await view()) as View & { syncs: object[] }
    expect(versions[0]).toMatchObject({ origin: 'vtpass', author: 'bola' })
    expect(syncs).toMatchObject([{ source: 'vtpass', outcome: 'changed' }])
    expect((await readRows(at, 'catalogue_changed')).at(-1)?.detail).toMatch(/; by bola$/)
  })

  it('explains an error without text of the vendor', async () => {
    vendor.fail('unauthorised')
    const answer = await sync()
    vendor.fail(undefined)
    expect(answer.status).toBe(409)
    expect(answer.json().message).toContain('could not be fetched')
    expect((await sync({ source: 'baxi' })).json().message).toContain('TABBAT_BAXI')
    expect((await sync({ source: 'dojah' })).status).toBe(422)
  })
})
