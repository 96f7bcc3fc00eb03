import { type SyncRequest, syncCatalogue } from '../../src/catalogue/sync.ts'
import type { CatalogueDeps } from '../../src/catalogue/versions.ts'
import { loadConfig } from '../../src/config/config.ts'
import { openShop, type Shop } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import type { VendorName } from '../../src/sources/vendors.ts'
import { openTestApp, type TestApp } from '../app.ts'

/** A server, and a vendor whose lists it can fetch. */
export type Counter = {
  readonly test: TestApp
  readonly desk: CatalogueDeps
  readonly shop: Shop
  readonly vendor: StandIn
  readonly sync: (wish?: Partial<SyncRequest>) => ReturnType<typeof syncCatalogue>
  readonly close: () => Promise<void>
}

/** Short, so that a vendor who hangs does not hold up the tests. */
const ATTEMPT_MS = 1000

export async function openCounter(
  name: VendorName,
  createScript: (shop: Shop) => VendorScript,
): Promise<Counter> {
  const shop = openShop()
  const vendor = await openStandIn(createScript(shop))
  const test = await openTestApp()
  const { vendors } = loadConfig(vendor.settings, '')
  const source = await openVendor(name, { vendors, allowPrivate: false, attemptMs: ATTEMPT_MS })
  const { store, audit } = test.context
  const desk = { table: store.catalogue, reviews: store.reviews, audit, switches: store.sources }
  return {
    test,
    desk,
    shop,
    vendor,
    sync: async (wish) => {
      const result = await syncCatalogue(desk, source, { author: 'test', ...wish })
      await test.context.catalogue.refresh()
      return result
    },
    close: async () => {
      await source.close?.()
      await test.close()
      await vendor.close()
    },
  }
}

/** The rows about the catalogue in the audit log, as one line each. */
export async function readAudit({ context }: TestApp): Promise<string[]> {
  const { audit } = context.store
  const pages = await Promise.all((await audit.chains()).map(({ chain }) => audit.page(chain, 0, 1000)))
  return pages
    .flat()
    .filter(({ phase }) => phase.startsWith('catalogue'))
    .map(({ phase, outcome, detail }) => `${phase} ${outcome} ${detail}`)
}
