import { type SyncRequest, syncCatalogue } from '../../src/catalogue/sync.ts'
import type { CatalogueDeps } from '../../src/catalogue/versions.ts'
import { loadConfig } from '../../src/context/config.ts'
import { createListVendor, type ListVendor } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { openTestApp, type TestApp } from '../app.ts'

/** A server, and a vendor whose lists it can fetch. */
export type SyncSetup = {
  readonly test: TestApp
  readonly deps: CatalogueDeps
  readonly vendorLists: ListVendor
  readonly vendor: StandIn
  readonly sync: (request?: Partial<SyncRequest>) => ReturnType<typeof syncCatalogue>
  readonly close: () => Promise<void>
}

/** Short, so that a vendor that hangs does not delay the tests. */
const ATTEMPT_MS = 1000

export async function openSyncSetup(
  name: string,
  createScript: (vendorLists: ListVendor) => VendorScript,
  settings: Readonly<Record<string, string>> = {},
): Promise<SyncSetup> {
  const vendorLists = createListVendor()
  const vendor = await openStandIn(createScript(vendorLists))
  const test = await openTestApp()
  const { vendors } = loadConfig({ ...vendor.settings, ...settings }, '')
  const source = await openVendor(name, { vendors, allowPrivate: false, attemptMs: ATTEMPT_MS })
  const { store, audit } = test.context
  const deps = { table: store.catalogue, reviews: store.reviews, audit, switches: store.sources }
  return {
    test,
    deps,
    vendorLists,
    vendor,
    sync: async (request) => {
      const result = await syncCatalogue(deps, source, { author: 'test', ...request })
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
