import { openVendor } from '../sources/open-vendor.ts'
import type { SourceSettings } from '../sources/settings.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from '../telemetry/log.ts'
import { type Catalogue, createCatalogue, readShippedFolder } from './catalogue.ts'
import { parseFiles } from './content.ts'
import type { CatalogueSettings } from './settings.ts'
import type { CatalogueDeps } from './versions.ts'

/** The active lists, in memory. A new version is in use seconds after it was saved. */
export type LiveCatalogue = Catalogue & {
  /** The lists in use: another object for each version. */
  readonly current: Catalogue
  /** The version in use; 0 for the shipped lists. */
  readonly version: number
  /** When it last knew the newest version, on the monotonic clock. */
  readonly learntAt: () => number
  /** Looks for a new version now. */
  readonly refresh: () => Promise<void>
  readonly close: () => Promise<void>
}

type CatalogueConfig = CatalogueSettings & Pick<SourceSettings, 'vendors' | 'sourcesPrivate'>

/** All nodes must switch within 5 seconds. */
const POLL_MS = 2000

/** The catalogue of a server: in memory, and synced on a schedule when the settings say so. */
export async function openCatalogue(
  config: CatalogueConfig,
  deps: CatalogueDeps,
  log: Log,
): Promise<LiveCatalogue> {
  const { table } = deps
  const shipped = readShippedFolder()
  let current = createCatalogue(shipped)
  let version = 0
  let closed = false
  let learntAt = performance.now()

  const load = async () => {
    const startedAt = performance.now()
    const newestId = await table.newestId()
    if (newestId === version) {
      learntAt = startedAt
      return
    }
    const row = newestId === 0 ? undefined : await table.newest()
    // An unreadable version is logged once, and the lists before it stay in use.
    version = row?.id ?? 0
    learntAt = startedAt
    if (!row) {
      current = createCatalogue(shipped)
      return
    }
    try {
      const { internet, tv } = parseFiles(JSON.parse(row.content))
      // The contract fixes the SME list.
      current = createCatalogue({ internet, tv, sme: shipped.sme })
      log.event('info', 'catalogue_loaded', { version })
    } catch {
      log.event('error', 'catalogue_unreadable', { version })
    }
  }

  // Store unavailable; the next poll tries again.
  let loading: Promise<void> | undefined
  const refresh = () => {
    loading ??= load()
      .catch(() => {})
      .finally(() => {
        loading = undefined
      })
    return loading
  }
  let timer: NodeJS.Timeout | undefined
  const poll = () => {
    if (closed) return
    timer = setTimeout(() => void refresh().then(poll), POLL_MS).unref()
  }
  await refresh()
  poll()
  const schedule = await openSchedule(config, deps, log)

  return {
    get current() {
      return current
    },
    get version() {
      return version
    },
    get providers() {
      return current.providers
    },
    get tvProducts() {
      return current.tvProducts
    },
    get asOf() {
      return current.asOf
    },
    listInternetBundles: (segment) => current.listInternetBundles(segment),
    listSmeBundles: () => current.listSmeBundles(),
    findTvProduct: (type, productCode) => current.findTvProduct(type, productCode),
    learntAt: () => learntAt,
    refresh,
    close: async () => {
      closed = true
      clearTimeout(timer)
      await schedule?.close()
    },
  }
}

/** These vendors have their own connections, so a sync never delays a verification. */
async function openSchedule(
  { catalogueSync, catalogueSources = [], vendors, sourcesPrivate }: CatalogueConfig,
  deps: CatalogueDeps,
  log: Log,
): Promise<{ readonly close: () => Promise<void> } | undefined> {
  if (catalogueSync === 'off') return undefined
  // Loaded on demand: most servers start without it.
  const { startSchedule } = await import('./sync.ts')
  const options = { vendors, allowPrivate: sourcesPrivate === 'on' }
  const sources: Source[] = []
  for (const name of catalogueSources) sources.push(await openVendor(name, options))
  const schedule = startSchedule({ deps, log, sources, everyMs: catalogueSync })
  return {
    close: async () => {
      await schedule.close()
      for (const source of sources) await source.close?.()
    },
  }
}
