import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncCatalogue } from '../../src/catalogue/sync.ts'
import { readCurrent, saveVersion } from '../../src/catalogue/versions.ts'
import { mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { type Http, openHttp } from '../../src/sources/http.ts'
import { fetchRelayCatalogue } from '../../src/sources/relay/index.ts'
import type { Source } from '../../src/sources/source.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

/** Two servers of this API: one fetches the lists of the other. */
let here: TestApp
let there: TestApp
let http: Http
let source: Source
beforeAll(async () => {
  here = await openTestApp()
  there = await openTestApp()
  await there.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = there.app.server.address() as AddressInfo
  http = openHttp({ source: 'relay', url: `http://127.0.0.1:${port}/api/v2`, allowPrivate: false })
  source = {
    name: 'relay',
    fetchCatalogue: (current, call) =>
      fetchRelayCatalogue(
        (request, options) => http.send({ ...request, headers: bearer() }, options),
        current,
        call,
      ),
  }
})
afterAll(async () => {
  await http.close()
  await here.close()
  await there.close()
})

const toDeps = ({ context: { store, audit } }: TestApp) => ({
  table: store.catalogue,
  audit,
  reviews: store.reviews,
  switches: store.sources,
})
const sync = () => syncCatalogue(toDeps(here), source, { author: 'test' })

describe('sync relay', () => {
  it('finds no change on a server with the same lists', async () => {
    expect(await sync()).toMatchObject({ outcome: 'unchanged', changes: [] })
  })

  it('saves the results of the look-ups of the other server', async () => {
    const current = await readCurrent(toDeps(there).table)
    const raised = raisePrices(current.files)
    const files = mapItems(raised, (item) => (item.code === 'GOHAN' ? undefined : item))
    await saveVersion(toDeps(there), current, { files, origin: 'import', author: 'test' })
    await there.context.catalogue.refresh()

    expect(await sync()).toMatchObject({ outcome: 'changed', id: 2 })
    const { catalogue } = here.context
    await catalogue.refresh()
    for (const segment of ['smile', 'spectranet'])
      expect(catalogue.listInternetBundles(segment)).toEqual(
        there.context.catalogue.listInternetBundles(segment),
      )
    for (const code of ['COMPE36', 'NLTESE36', 'GWALLE36'])
      expect(catalogue.findTvProduct('DSTV', code)).toEqual(
        there.context.catalogue.findTvProduct('DSTV', code),
      )
    expect(catalogue.findTvProduct('GOTV', 'GOHAN')).toBeUndefined()
    // There is no look-up for the prices of products.
    expect(catalogue.tvProducts.find(({ code }) => code === 'COMPE36')?.price).toBe('19000')
    expect(await sync()).toMatchObject({ outcome: 'unchanged' })
  })

  it('is refused with a wrong key', async () => {
    const wrong: Source = {
      name: 'relay',
      fetchCatalogue: (current, call) => fetchRelayCatalogue(http.send, current, call),
    }
    await expect(syncCatalogue(toDeps(here), wrong, { author: 'test' })).rejects.toMatchObject({
      reason: 'refused',
    })
  })
  it('reports a server that has none of the lists as a wrong address', async () => {
    const misdirected: Source = {
      name: 'relay',
      fetchCatalogue: (current, call) =>
        fetchRelayCatalogue(
          (request, options) =>
            http.send({ ...request, path: `/wrong${request.path}`, headers: bearer() }, options),
          current,
          call,
        ),
    }
    await expect(syncCatalogue(toDeps(here), misdirected, { author: 'test' })).rejects.toMatchObject({
      reason: 'bad_response',
    })
  })
})
