import type { CatalogueTable } from '../store/catalogue-table.ts'
import type { Log } from '../telemetry/log.ts'
import { type Catalogue, createCatalogue } from './catalogue.ts'
import { parseFiles } from './content.ts'
import { readShippedFolder } from './folder.ts'

/** The lists that are in force, in memory: a look-up waits for nobody, and sees a new version a moment after it is saved. */
export type LiveCatalogue = Catalogue & {
  /** The version that answers now; 0 while there are only the lists that shipped. */
  readonly version: number
  /** Looks for a new version now instead of at the next turn. */
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

  const load = async () => {
    const newestId = await table.newestId()
    if (newestId === version) return
    const row = newestId === 0 ? undefined : await table.newest()
    // A version that cannot be read is complained about once, and the lists of before go on answering.
    version = row?.id ?? 0
    if (!row) {
      current = createCatalogue(shipped)
      return
    }
    try {
      const { internet, tv } = parseFiles(JSON.parse(row.content))
      // The SME list is the contract's, whatever a version says.
      current = createCatalogue({ internet, tv, sme: shipped.sme })
      log.event('info', 'catalogue_loaded', { version })
    } catch {
      log.event('error', 'catalogue_unreadable', { version })
    }
  }

  // A database that is away for a moment is asked again at the next turn.
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
    refresh,
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
