import type { Config } from '../config/config.ts'
import { openVendor } from '../sources/open-vendor.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from '../telemetry/log.ts'
import { type LiveCatalogue, openCatalogue } from './live.ts'
import type { CatalogueDeps } from './versions.ts'

/** The catalogue of a server: it answers from memory, and is fetched anew on a schedule where the settings ask for it. */
export type RefreshedCatalogue = Omit<LiveCatalogue, 'close'> & { readonly close: () => Promise<void> }

export async function openRefreshedCatalogue(
  config: Config,
  desk: CatalogueDeps,
  log: Log,
): Promise<RefreshedCatalogue> {
  const live = await openCatalogue({ table: desk.table, log })
  const schedule = await openSchedule(config, desk, log)
  // Added to it, for a copy would answer from the lists of this moment for ever.
  const stop = live.close
  return Object.assign(live, {
    close: async () => {
      stop()
      await schedule?.close()
    },
  })
}

/** These vendors have connections of their own: lists never stand in the way of a verification. */
async function openSchedule(
  { catalogueSync, catalogueSources = [], vendors, sourcesPrivate }: Config,
  desk: CatalogueDeps,
  log: Log,
): Promise<{ readonly close: () => Promise<void> } | undefined> {
  if (catalogueSync === 'off') return undefined
  // Loaded where it is needed: most servers start without it.
  const { startSchedule } = await import('./schedule.ts')
  const options = { vendors, allowPrivate: sourcesPrivate === 'on' }
  const sources: Source[] = []
  for (const name of catalogueSources) sources.push(await openVendor(name, options))
  const schedule = startSchedule({ desk, log, sources, everyMs: catalogueSync })
  return {
    close: async () => {
      await schedule.close()
      for (const source of sources) await source.close?.()
    },
  }
}
