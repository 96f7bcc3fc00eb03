import { toLagosDay } from '../contract/time.ts'
import type { Kind } from '../crypto/mac.ts'
import type { Log } from '../telemetry/log.ts'
import { openVendor } from './open-vendor.ts'
import type { SourceName, SourceSettings } from './settings.ts'
import type { Source } from './source.ts'
import { priceOf, toPrices } from './spend-leases.ts'
import type { VendorInUse, VendorValues } from './vendors.ts'

type Logs = Pick<Log, 'event'>

/** The sources of the lists of the settings, by name. */
export async function openSources(
  config: SourceSettings,
  { registry, log }: { readonly registry: Source; readonly log: Logs },
): Promise<OpenedSources> {
  const opened = new Map<SourceName, Source | ReplaceableSource>()
  for (const name of new Set([...config.ninSources, ...config.bvnSources]))
    opened.set(
      name,
      name === 'registry' ? registry : createReplaceable(await openConfigured(config, name, log)),
    )
  return opened
}

export type OpenedSources = ReadonlyMap<SourceName, Source | ReplaceableSource>

/** Prices stay those of `config` where other settings were read again. */
const openConfigured = (
  config: SourceSettings,
  name: string,
  log: Logs,
  { vendors, sourcesPrivate }: SourceSettings = config,
) =>
  openVendor(name, {
    vendors,
    allowPrivate: sourcesPrivate === 'on',
    onPrice: createPriceWatch(config, name, log),
  })

/** Logs a price of the vendor that is not in the settings, once for each price and day: the spend and the cap count with the settings. */
function createPriceWatch(config: SourceSettings, name: string, log: Logs) {
  const price = toPrices(config)[name]
  const seen = new Map<string, number>()
  return (kind: Kind, kobo: number) => {
    const [expected, today] = [priceOf(price, kind), toLagosDay(Date.now())]
    if (kobo === expected || seen.get(`${kind} ${kobo}`) === today) return
    seen.set(`${kind} ${kobo}`, today)
    log.event('warn', 'source_price_differs', {
      source: name,
      operation: `verify_${kind}`,
      kobo,
      expected_kobo: expected,
    })
  }
}

/** The vendors that changed; or why nothing did. */
type Reloaded = { readonly changed: readonly string[]; readonly problems: readonly string[] }

export type SourceReload = {
  /** The vendors in use, as their files were last read. */
  readonly vendors: () => VendorValues
  /** Uses other vendor files and settings. Prices, caps and connections stay as they were. All vendors change, or none does. */
  readonly reload: (next: SourceSettings) => Promise<Reloaded>
}

export function createReload(config: SourceSettings, opened: OpenedSources, log: Logs): SourceReload {
  let vendors = config.vendors
  const reload = async (next: SourceSettings): Promise<Reloaded> => {
    const changed = [...opened.keys()].filter(
      (name) => name !== 'registry' && toFingerprint(next.vendors[name]) !== toFingerprint(vendors[name]),
    )
    const problems = changed.flatMap((name) => listLost(config, next, name))
    if (problems.length > 0) return { changed: [], problems }
    const others = await Promise.all(changed.map((name) => openConfigured(config, name, log, next)))
    for (const [index, name] of changed.entries())
      (opened.get(name) as ReplaceableSource).replace(others[index] as Source)
    vendors = {
      ...vendors,
      ...Object.fromEntries(changed.map((name) => [name, next.vendors[name] as VendorInUse])),
    }
    return { changed, problems: [] }
  }
  return { vendors: () => vendors, reload }
}

/** What the source is made from. A pattern is not JSON. */
const toFingerprint = (inUse: VendorInUse | undefined) =>
  JSON.stringify([inUse?.vendor.loaded?.file, inUse?.values], (_name, value) =>
    value instanceof RegExp ? value.source : value,
  )

/** A source that is in a list must be able to answer. */
function listLost(
  { ninSources, bvnSources }: SourceSettings,
  { vendors }: SourceSettings,
  name: string,
): string[] {
  const abilities = vendors[name]?.vendor.abilities ?? []
  const lost = [
    ...(ninSources.includes(name) && !abilities.includes('nin') ? ['TABBAT_NIN_SOURCES'] : []),
    ...(bvnSources.includes(name) && !abilities.includes('bvn') ? ['TABBAT_BVN_SOURCES'] : []),
  ]
  return lost.map((setting) => `${name} can no longer answer, but ${setting} names it`)
}

/** A source whose vendor file can be read again while it is in use. */
type ReplaceableSource = Source & {
  /** New calls go to the other source. This one is closed when the last of its calls has ended. */
  readonly replace: (other: Source) => void
}

/** Which operations it has must stay the same. */
function createReplaceable(first: Source): ReplaceableSource {
  let current = first
  const running = new Map<Source, number>()
  const closeUnused = (source: Source) => {
    if (source !== current && !running.get(source)) void source.close?.()
  }
  /** Calls that began before stay with the source that they began with. */
  const hold = async <T>(work: (source: Source) => Promise<T>): Promise<T> => {
    const source = current
    running.set(source, (running.get(source) ?? 0) + 1)
    try {
      return await work(source)
    } finally {
      running.set(source, (running.get(source) ?? 1) - 1)
      closeUnused(source)
    }
  }
  const { name, isExternal, findNin, findBvn, fetchCatalogue } = first
  return {
    name,
    ...(isExternal !== undefined && { isExternal }),
    get acceptsVirtualNin() {
      return current.acceptsVirtualNin as true
    },
    get needsDetails() {
      return current.needsDetails
    },
    ...(findNin && {
      findNin: (query, call) => hold((source) => (source.findNin ?? findNin)(query, call)),
    }),
    ...(findBvn && {
      findBvn: (query, call) => hold((source) => (source.findBvn ?? findBvn)(query, call)),
    }),
    ...(fetchCatalogue && { fetchCatalogue }),
    replace: (other) => {
      const old = current
      current = other
      closeUnused(old)
    },
    close: async () => current.close?.(),
  }
}
