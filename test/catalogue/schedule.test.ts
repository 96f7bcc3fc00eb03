import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createListVendor, type ListVendor, raisePrices } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { readAudit } from './sync-setup.ts'

/** One run fetches five lists. */
const REQUESTS_PER_RUN = 5

let vendorLists: ListVendor
let vendor: StandIn
let nodes: TestApp[]
beforeEach(async () => {
  vendorLists = createListVendor()
  vendor = await openStandIn(createVtpass(vendorLists))
  nodes = []
})
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()))
  await vendor.close()
})

async function openNode(settings: Record<string, string> = {}): Promise<TestApp> {
  const node = await openTestApp({
    ...vendor.settings,
    TABBAT_CATALOGUE_SOURCES: 'vtpass',
    TABBAT_CATALOGUE_SYNC: '6h',
    ...settings,
  })
  nodes.push(node)
  return node
}

const lookUp = ({ app }: TestApp) =>
  app.inject({ url: '/api/v2/internet/data/smile/lookup', headers: bearer() })
const outcomes = async ({ context }: TestApp) =>
  (await context.store.catalogue.listSyncs()).map(({ outcome }) => outcome)

describe('the schedule', () => {
  it('fetches the lists at the start when they are due, and records it in the audit log', async () => {
    vendorLists.files = raisePrices(vendorLists.files)
    const node = await openNode()
    await expect.poll(() => outcomes(node)).toEqual(['changed'])
    await expect.poll(async () => (await lookUp(node)).json().data.data[0].price).toBe('495')
    expect(await readAudit(node)).toEqual([expect.stringMatching(/^catalogue_changed ok vtpass, after/)])
    expect((await node.context.store.catalogue.list()).at(-1)?.author).toBe('schedule')
  })

  it.skipIf(!hasPostgres())('runs on one of several nodes', async () => {
    const rootKey = Buffer.alloc(32, 7).toString('base64')
    const settings = { TABBAT_DATABASE_URL: await createTestDatabase(), TABBAT_ROOT_KEY: rootKey }
    const [one] = await Promise.all([openNode(settings), openNode(settings)])
    await openNode(settings)
    await expect.poll(() => outcomes(one)).toEqual(['unchanged'])
    expect(vendor.count()).toBe(REQUESTS_PER_RUN)
  })

  it('delays neither look-ups nor shutdown while the vendor hangs', async () => {
    vendor.fail('slow_headers')
    const node = await openNode()
    await expect.poll(() => vendor.count()).toBe(1)
    expect(await outcomes(node)).toEqual([undefined])
    for (let index = 0; index < 50; index++) expect((await lookUp(node)).statusCode).toBe(200)
    // The vendor has not answered meanwhile.
    expect(await outcomes(node)).toEqual([undefined])
    nodes = []
    // A call to this vendor may take eight seconds.
    const late = new Promise<string>((resolve) => setTimeout(resolve, 6000, 'late').unref())
    expect(await Promise.race([node.close(), late])).toBeUndefined()
  })

  it('does not call a disabled vendor, and records it', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-schedule-'))
    const before = await openNode({ TABBAT_DATA_DIR: dataDir, TABBAT_CATALOGUE_SYNC: 'off' })
    await before.context.store.sources.disable('vtpass', Date.now())
    const node = await openNode({ TABBAT_DATA_DIR: dataDir })
    await expect.poll(() => outcomes(node)).toEqual(['disabled'])
    expect(await readAudit(node)).toEqual(['catalogue_sync disabled vtpass'])
    expect(vendor.count()).toBe(0)
  })

  it('keeps the old lists when the vendor fails, and records it', async () => {
    vendor.fail('html_with_200')
    const node = await openNode()
    await expect.poll(() => outcomes(node)).toEqual(['bad_response'])
    expect(await readAudit(node)).toEqual(['catalogue_sync bad_response vtpass'])
    expect((await lookUp(node)).statusCode).toBe(200)
  })
})
