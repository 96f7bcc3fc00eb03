import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createListVendor, mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { newDataDir, type RunningServer, startServer, tabbat } from './tabbat.ts'

const dataDir = newDataDir()
const shop = createListVendor()
let vendor: StandIn
let server: RunningServer
let settings: Record<string, string>
beforeAll(async () => {
  vendor = await openStandIn(createVtpass(shop))
  settings = { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent', ...vendor.settings }
  server = await startServer(settings)
})
afterAll(async () => {
  await server.stop()
  await vendor.close()
})

const catalogue = (...args: string[]) => tabbat(settings, 'catalogue', ...args)

async function readPrice(): Promise<string | undefined> {
  const response = await fetch(`${server.url}/api/v2/internet/data/smile/lookup`, {
    headers: { authorization: `Bearer ${SANDBOX_KEY}` },
  })
  const { data } = (await response.json()) as { data: { data: { code: string; price: string }[] } }
  return data.data.find(({ code }) => code === '624')?.price
}

describe('tabbat catalogue', () => {
  it('syncs: shows what changes as a table, and a running server switches', async () => {
    shop.files = raisePrices(shop.files)
    const look = await catalogue('sync', 'vtpass', '--dry-run')
    expect(look.stdout).toMatch(/^change +list +code +before +after +name\nprice +smile +624 +450 +495 +1GB/)
    expect(look.stdout).toContain('Nothing was changed (--dry-run). Version 1 stays active.')
    const { code, stdout } = await catalogue('sync', 'vtpass')
    expect([code, stdout]).toEqual([0, expect.stringContaining('Version 2 is active')])
    await expect.poll(readPrice).toBe('495')
  })

  it('exports a file that can be edited and imported, as a whole and as one list', async () => {
    const file = join(dataDir, 'lists.json')
    expect(await catalogue('export', file)).toMatchObject({ code: 0, stdout: `The lists are in ${file}.\n` })
    expect((await catalogue('import', file)).stdout).toBe('Nothing has changed. Version 2 stays active.\n')
    const lists = JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof createListVendor>['files']
    const one = join(dataDir, 'swift.json')
    writeFileSync(one, JSON.stringify({ ...lists.internet[1], segment: 'swift', type: 'SWIFT' }))
    const { outcome, version, changes } = JSON.parse((await catalogue('import', one, '--json')).stdout)
    expect([outcome, version, changes.length]).toEqual(['changed', 3, 5])
    expect(changes[0]).toEqual({
      change: 'added',
      list: 'swift',
      code: 'vt-1000',
      name: 'Spectranet N1000',
      price_before: null,
      price_after: '1100',
    })
    const diff = await catalogue('diff')
    expect(diff.stdout).toContain('From version 2 to 3: 5 added, 0 removed, 0 prices changed.')
  })

  it('rolls back, and keeps the history', async () => {
    expect((await catalogue('rollback', '1')).stdout).toContain('Version 4 is active')
    const { versions, syncs } = JSON.parse((await catalogue('history', '--json')).stdout)
    expect(versions.map(({ origin }: { origin: string }) => origin)).toEqual([
      'shipped',
      'vtpass',
      'import',
      'rollback of 1',
    ])
    expect(syncs).toMatchObject([{ source: 'vtpass', outcome: 'changed' }])
    await expect.poll(readPrice).toBe('450')
    const { stdout } = await tabbat(settings, 'audit', 'export')
    expect(stdout.match(/"phase":"catalogue_changed"/g)).toHaveLength(3)
  })

  it('asks for a review of lists that look like a mistake', async () => {
    const shipped = createListVendor().files
    shop.files = mapItems(shipped, (item) => ({ ...item, price: String(Number(item.price) * 1000) }))
    const sync = await catalogue('sync', 'vtpass')
    expect([sync.code, sync.stderr]).toEqual([1, expect.stringContaining('tabbat catalogue review 1')])
    const [listed, shown, unasked] = await Promise.all([
      catalogue('review', '--json'),
      catalogue('review', '1'),
      catalogue('review', '--accept', '1'),
    ])
    expect(JSON.parse(listed.stdout).reviews).toMatchObject([{ id: 1, source: 'vtpass' }])
    expect(shown.stdout).toMatch(/price +smile +624 +450 +450000 +1GB/)
    expect([unasked.code, unasked.stderr]).toEqual([1, expect.stringContaining('confirm with --yes')])
    expect((await catalogue('review', '--reject', '1', '--yes')).code).toBe(0)
    expect((await catalogue('sync', 'vtpass')).stderr).toContain('were rejected as review 1')
    expect((await catalogue('review')).stdout).toBe('No lists need a review.\n')
    shop.files = mapItems(shipped, (item) => ({ ...item, price: String(Number(item.price) * 4) }))
    await catalogue('sync', 'vtpass')
    const accepted = await catalogue('review', '--accept', '2', '--yes', '--json')
    expect(JSON.parse(accepted.stdout)).toMatchObject({ outcome: 'changed', version: 5 })
    await expect.poll(readPrice).toBe('1800')
    expect((await catalogue('rollback', '4')).code).toBe(0)
  })

  it('says what is wrong, and changes nothing', async () => {
    const broken = join(dataDir, 'broken.json')
    writeFileSync(broken, '{"internet":[],"tv":[]}')
    vendor.fail('html_with_200')
    const [sync, baxi, empty, missing, sme, gone] = await Promise.all([
      catalogue('sync', 'vtpass'),
      catalogue('sync', 'baxi'),
      catalogue('import', broken),
      catalogue('import', join(dataDir, 'nothing.json')),
      catalogue('import', 'src/catalogue/data/sme.json'),
      catalogue('rollback', '99'),
    ])
    expect(sync.stderr).toContain('could not be fetched (bad_response). The answer is not JSON')
    expect(baxi.stderr).toContain('baxi is not set up: set TABBAT_BAXI_API_KEY.')
    expect(empty.stderr).toContain('The list smile would be empty.')
    expect(missing.stderr).toContain('nothing.json cannot be read (ENOENT).')
    expect(sme.stderr).toContain('is fixed by the API and cannot be imported')
    expect(gone.stderr).toContain('There is no version 99 of the catalogue, or it was deleted')
    for (const { code } of [sync, baxi, empty, missing, sme, gone]) expect(code).toBe(1)
    expect((await catalogue('history')).stdout).toContain('6 (active)')
  })
})
