import type { Log } from '../telemetry/log.ts'
import { type Catalogue, createCatalogue } from './catalogue.ts'
import type { CatalogueTable } from './catalogue-table.ts'
import { parseFiles } from './content.ts'
import { readShippedFolder } from './folder.ts'

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
  readonly close: () => void
}

type LiveOptions = {
  readonly table: Pick<CatalogueTable, 'newestId' | 'newest'>
  readonly log: Pick<Log, 'event'>
  readonly pollMs?: number
}

/** All nodes must switch within 5 seconds. */
const POLL_MS = 2000

export async function openCatalogue({ table, log, pollMs = POLL_MS }: LiveOptions): Promise<LiveCatalogue> {
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
    timer = setTimeout(() => void refresh().then(poll), pollMs).unref()
  }
  await refresh()
  poll()

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
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
