import type { Log } from '../log.ts'
import type { Source } from '../sources/source.ts'
import { syncCatalogue, toOutcome } from './sync.ts'
import type { CatalogueDesk } from './versions.ts'

export type Schedule = { readonly close: () => Promise<void> }

type ScheduleOptions = {
  readonly desk: CatalogueDesk
  readonly log: Pick<Log, 'event' | 'failure'>
  readonly sources: readonly Source[]
  readonly everyMs: number
}

/** How often it is looked whether it is time. */
const LONGEST_LOOK_MS = 60_000

/**
 * Fetches the lists of the vendors now and then. Every node keeps this clock, and the database says whose turn it is: a
 * vendor is asked once, however many nodes there are and however often they start.
 */
export function startSchedule({ desk, log, sources, everyMs }: ScheduleOptions): Schedule {
  const stopping = new AbortController()
  const run = async (source: Source) => {
    try {
      if (!(await desk.table.claimSync({ source: source.name, at: Date.now(), everyMs }))) return
      const { outcome, id } = await syncCatalogue(desk, source, {
        author: 'schedule',
        signal: stopping.signal,
      })
      log.event('info', 'catalogue_sync', { source: source.name, outcome, version: id })
    } catch (error) {
      const outcome = toOutcome(error)
      log.event('warn', 'catalogue_sync', { source: source.name, outcome })
      // The others were foreseen, and their texts may quote the vendor.
      if (outcome === 'failed' && !stopping.signal.aborted) log.failure(error)
    }
  }

  let running: Promise<void> | undefined
  const look = () => {
    running ??= runAll().finally(() => {
      running = undefined
    })
  }
  /** One after another: each starts from what the one before has saved. */
  const runAll = async () => {
    for (const source of sources) if (!stopping.signal.aborted) await run(source)
  }
  const timer = setInterval(look, Math.min(everyMs, LONGEST_LOOK_MS)).unref()
  look()
  return {
    close: async () => {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}
