import { openVendor } from '../sources/open-vendor.ts'
import type { SourceSettings } from '../sources/settings.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from '../telemetry/log.ts'
import { type LiveCatalogue, openCatalogue } from './live-catalogue.ts'
import type { CatalogueSettings } from './settings.ts'
import type { CatalogueDeps } from './versions.ts'

/** The catalogue of a server: in memory, and synced on a schedule when the settings say so. */
export type RefreshedCatalogue = Omit<LiveCatalogue, 'close'> & { readonly close: () => Promise<void> }

type RefreshSettings = CatalogueSettings & Pick<SourceSettings, 'vendors' | 'sourcesPrivate'>

export async function openRefreshedCatalogue(
  config: RefreshSettings,
  deps: CatalogueDeps,
  log: Log,
): Promise<RefreshedCatalogue> {
  const live = await openCatalogue({ table: deps.table, log })
  const schedule = await openSchedule(config, deps, log)
  // Assigned, not spread: a copy would freeze the values of the getters.
  const stop = live.close
  return Object.assign(live, {
    close: async () => {
      stop()
      await schedule?.close()
    },
  })
}

/** These vendors have their own connections, so a sync never delays a verification. */
async function openSchedule(
  { catalogueSync, catalogueSources = [], vendors, sourcesPrivate }: RefreshSettings,
  deps: CatalogueDeps,
  log: Log,
): Promise<{ readonly close: () => Promise<void> } | undefined> {
  if (catalogueSync === 'off') return undefined
  // Loaded on demand: most servers start without it.
  const { startSchedule } = await import('./schedule.ts')
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
