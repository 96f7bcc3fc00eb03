import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCatalogue, readShippedFolder } from '../../src/catalogue/catalogue.ts'
import { toContent } from '../../src/catalogue/content.ts'
import { listVersions, readCurrent, readVersion, saveVersion } from '../../src/catalogue/versions.ts'
import { raisePrices } from '../../src/simulator/price-list.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { readAudit } from './sync-setup.ts'

const toDeps = ({ context }: TestApp) => ({ table: context.store.catalogue, audit: context.audit })

/** The price that a client sees, and the ETag. */
async function lookUp({ app }: TestApp) {
  const { body, headers } = await app.inject({
    url: '/api/v2/internet/data/smile/lookup',
    headers: bearer(),
  })
  const { data } = JSON.parse(body) as { data: { data: { code: string; price: string }[] } }
  return { price: data.data.find(({ code }) => code === '624')?.price, etag: headers.etag }
}

const toFiles = ({ internet, tv }: ReturnType<typeof readShippedFolder>) => ({ internet, tv })

async function raise(test: TestApp) {
  const current = await readCurrent(test.context.store.catalogue)
  const files = raisePrices(current.files)
  return saveVersion(toDeps(test), current, { files, origin: 'import', author: 'test' })
}

describe('versions', () => {
  let test: TestApp
  beforeAll(async () => {
    test = await openTestApp()
  })
  afterAll(() => test.close())

  it('start with the shipped lists, which are stored with the first change', async () => {
    const { table } = toDeps(test)
    expect(await listVersions(table)).toMatchObject([{ id: 1, origin: 'shipped' }])
    expect((await readVersion(table, 1)).files).toEqual(toFiles(readShippedFolder()))
    expect(await raise(test)).toMatchObject({ outcome: 'changed', id: 2 })
    expect(await listVersions(table)).toMatchObject([
      { id: 1, origin: 'shipped' },
      { id: 2, origin: 'import' },
    ])
    expect((await readVersion(table, 1)).files).toEqual(toFiles(readShippedFolder()))
    await expect(readVersion(table, 9)).rejects.toThrow('There is no version 9')
  })

  it('change the answers and their ETag, but never the SME list', async () => {
    const before = createCatalogue(readShippedFolder())
    await test.context.catalogue.refresh()
    const now = await lookUp(test)
    expect(now.price).toBe('495')
    expect(test.context.catalogue.listSmeBundles()).toEqual(before.listSmeBundles())
    const cached = await test.app.inject({
      url: '/api/v2/internet/data/smile/lookup',
      headers: { ...bearer(), 'if-none-match': String(now.etag) },
    })
    expect(cached.statusCode).toBe(304)
  })

  it('can be rolled back, which creates a new version', async () => {
    const { table } = toDeps(test)
    const before = await lookUp(test)
    const { files } = await readVersion(table, 1)
    const request = { files, origin: 'rollback of 1', author: 'test', force: true }
    expect(await saveVersion(toDeps(test), await readCurrent(table), request)).toMatchObject({ id: 3 })
    await test.context.catalogue.refresh()
    const after = await lookUp(test)
    expect([after.price, after.etag === before.etag]).toEqual(['450', false])
    expect((await readAudit(test)).at(-1)).toMatch(/^catalogue_changed ok rollback of 1, after version 2: /)
    expect(await saveVersion(toDeps(test), await readCurrent(table), request)).toMatchObject({
      outcome: 'unchanged',
      id: 3,
    })
  })

  it('are refused after a change made meanwhile, which the audit log records', async () => {
    const current = await readCurrent(toDeps(test).table)
    await raise(test)
    const files = raisePrices(raisePrices(current.files))
    await expect(
      saveVersion(toDeps(test), current, { files, origin: 'import', author: 'test' }),
    ).rejects.toThrow('was changed meanwhile')
    expect((await readAudit(test)).at(-1)).toMatch(/^catalogue_changed refused import, after version 3/)
  })

  it('that cannot be read leave the earlier lists in use, and can be replaced', async () => {
    const { table } = toDeps(test)
    await test.context.catalogue.refresh()
    const { price } = await lookUp(test)
    for (const content of ['{"internet":', '{"internet":[{}],"tv":[]}']) {
      const damaged = { at: 1, origin: 'import', author: 'test', content, digest: 'x' }
      const id = await table.append(await table.newestId(), [damaged])
      await test.context.catalogue.refresh()
      expect([test.context.catalogue.version, (await lookUp(test)).price]).toEqual([id, price])
    }
    const { files } = await readVersion(table, 1)
    const request = { files, origin: 'shipped', author: 'test' }
    expect(await saveVersion(toDeps(test), await readCurrent(table), request)).toMatchObject({
      outcome: 'changed',
    })
    expect(toContent((await readCurrent(table)).files)).toEqual(toContent(files))
  })
})

describe.skipIf(!hasPostgres())('two nodes on one PostgreSQL', () => {
  let nodes: TestApp[]
  beforeAll(async () => {
    const rootKey = Buffer.alloc(32, 7).toString('base64')
    const settings = { TABBAT_DATABASE_URL: await createTestDatabase(), TABBAT_ROOT_KEY: rootKey }
    nodes = [await openTestApp(settings), await openTestApp(settings)]
  })
  afterAll(() => Promise.all(nodes.map((node) => node.close())))

  it('both use a new version within 5 seconds', async () => {
    const [one, other] = nodes as [TestApp, TestApp]
    expect((await lookUp(other)).price).toBe('450')
    await raise(one)
    for (const node of [one, other])
      await expect.poll(() => lookUp(node).then(({ price }) => price)).toBe('495')
  })
})
