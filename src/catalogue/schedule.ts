import type { Source } from '../sources/source.ts'
import type { Log } from '../telemetry/log.ts'
import { AwaitsReview } from './review.ts'
import { syncCatalogue, toOutcome } from './sync.ts'
import { type CatalogueDeps, SCHEDULE } from './versions.ts'

export type Schedule = { readonly close: () => Promise<void> }

/** The clock of the machine, which nodes compare by way of the database; and its timers. Tests bring their own. */
export type Clock = {
  readonly now: () => number
  /** Runs the work once after this time; what comes back cancels it. */
  readonly after: (ms: number, work: () => void) => () => void
}

const CLOCK: Clock = {
  now: Date.now,
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref()
    return () => clearTimeout(timer)
  },
}

type ScheduleOptions = {
  readonly desk: CatalogueDeps
  readonly log: Pick<Log, 'event' | 'failure'>
  readonly sources: readonly Source[]
  readonly everyMs: number
  readonly clock?: Clock
}

/** At the latest it is looked again after this time, because others may have changed what is due. */
const LONGEST_LOOK_MS = 60_000
const SHORTEST_LOOK_MS = 50

/**
 * Fetches the lists of the vendors now and then. Every node keeps this clock, and the database says whose turn it is: a
 * vendor is asked once, however many nodes there are and however often they start. The next look is at the moment when a
 * vendor is due, so that the time between two runs is the one that was set, and not a multiple of it.
 */
export function startSchedule({ desk, log, sources, everyMs, clock = CLOCK }: ScheduleOptions): Schedule {
  const stopping = new AbortController()
  const run = async (source: Source) => {
    try {
      const startedAt = clock.now()
      if (!(await desk.table.claimSync({ source: source.name, at: startedAt, everyMs }))) return
      const wish = { author: SCHEDULE, signal: stopping.signal, startedAt }
      const { outcome, id } = await syncCatalogue(desk, source, wish)
      log.event('info', 'catalogue_sync', { source: source.name, outcome, version: id })
    } catch (error) {
      logFailure(log, source.name, error, stopping.signal.aborted)
    }
  }

  /** One after another: each starts from what the one before has saved. */
  const look = async () => {
    for (const source of sources) if (!stopping.signal.aborted) await run(source)
    const delayMs = await readDelay().catch(() => LONGEST_LOOK_MS)
    if (!stopping.signal.aborted) cancel = clock.after(delayMs, start)
  }
  const readDelay = async () => {
    const started = new Map((await desk.table.listSyncs()).map((sync) => [sync.source, sync.startedAt]))
    const dueAt = Math.min(...sources.map(({ name }) => (started.get(name) ?? 0) + everyMs))
    return Math.min(Math.max(dueAt - clock.now(), SHORTEST_LOOK_MS), everyMs, LONGEST_LOOK_MS)
  }
  let cancel = () => {}
  let running: Promise<void> = Promise.resolve()
  const start = () => {
    running = look()
  }
  start()
  return {
    close: async () => {
      stopping.abort()
      cancel()
      await running
    },
  }
}

function logFailure(log: ScheduleOptions['log'], source: string, error: unknown, isStopping: boolean): void {
  const outcome = toOutcome(error)
  // What waits for a person, or was rejected by one, was told when it came.
  const isKnown = error instanceof AwaitsReview && !error.raised.isNew
  const review = error instanceof AwaitsReview ? { review: error.raised.id } : {}
  log.event(isKnown ? 'info' : 'warn', 'catalogue_sync', { source, outcome, ...review })
  // The others were foreseen, and their texts may quote the vendor.
  if (outcome === 'failed' && !isStopping) log.failure(error)
}
