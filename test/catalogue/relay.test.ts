import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { syncCatalogue } from '../../src/catalogue/sync.ts'
import { readCurrent, saveVersion } from '../../src/catalogue/versions.ts'
import { mapItems, raisePrices } from '../../src/simulator/price-list.ts'
import { type Http, openHttp } from '../../src/sources/http.ts'
import { fetchRelayCatalogue } from '../../src/sources/relay/catalogue.ts'
import type { Source } from '../../src/sources/source.ts'
import { bearer, openTestApp, type TestApp } from '../app.ts'

/** Two servers of this API: one asks the other for its lists. */
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
        (question, asked) => http.send({ ...question, headers: bearer() }, asked),
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

const deskOf = ({ context: { store, audit } }: TestApp) => ({
  table: store.catalogue,
  audit,
  reviews: store.reviews,
  switches: store.sources,
})
const sync = () => syncCatalogue(deskOf(here), source, { author: 'test' })

describe('sync relay', () => {
  it('finds nothing new in a server with the same lists', async () => {
    expect(await sync()).toMatchObject({ outcome: 'unchanged', changes: [] })
  })

  it('takes over what the look-ups of the other server say', async () => {
    const current = await readCurrent(deskOf(there).table)
    const raised = raisePrices(current.files)
    const files = mapItems(raised, (item) => (item.code === 'GOHAN' ? undefined : item))
    await saveVersion(deskOf(there), current, { files, origin: 'import', author: 'test' })
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

  it('is refused when the key is', async () => {
    const wrong: Source = {
      name: 'relay',
      fetchCatalogue: (current, call) => fetchRelayCatalogue(http.send, current, call),
    }
    await expect(syncCatalogue(deskOf(here), wrong, { author: 'test' })).rejects.toMatchObject({
      reason: 'refused',
    })
  })
  it('takes a server that knows none of it for a wrong address', async () => {
    const lost: Source = {
      name: 'relay',
      fetchCatalogue: (current, call) =>
        fetchRelayCatalogue(
          (question, asked) =>
            http.send({ ...question, path: `/wrong${question.path}`, headers: bearer() }, asked),
          current,
          call,
        ),
    }
    await expect(syncCatalogue(deskOf(here), lost, { author: 'test' })).rejects.toMatchObject({
      reason: 'bad_response',
    })
  })
})
