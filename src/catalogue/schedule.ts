import type { Source } from '../sources/source.ts'
import type { Log } from '../telemetry/log.ts'
import { AwaitsReview } from './review.ts'
import { syncCatalogue, toOutcome } from './sync.ts'
import { type CatalogueDeps, SCHEDULE } from './versions.ts'

type Schedule = { readonly close: () => Promise<void> }

/** The wall clock, which nodes compare through the database, and timers. Replaced in tests. */
export type Clock = {
  readonly now: () => number
  /** Runs the work once after this time. Returns a function that cancels it. */
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
  readonly deps: CatalogueDeps
  readonly log: Pick<Log, 'event' | 'failure'>
  readonly sources: readonly Source[]
  readonly everyMs: number
  readonly clock?: Clock
}

/** Checks again after this time at the latest: another node may have changed what is due. */
const MAX_DELAY_MS = 60_000
const MIN_DELAY_MS = 50

/**
 * Syncs the lists of the vendors on a schedule. Every node runs it, and the database decides which node does a run: a vendor
 * is called once per interval, however many nodes there are. The next check is when a vendor is due, so that the time between
 * two runs equals the setting.
 */
export function startSchedule({ deps, log, sources, everyMs, clock = CLOCK }: ScheduleOptions): Schedule {
  const stopping = new AbortController()
  const run = async (source: Source) => {
    try {
      const startedAt = clock.now()
      if (!(await deps.table.claimSync({ source: source.name, at: startedAt, everyMs }))) return
      const request = { author: SCHEDULE, signal: stopping.signal, startedAt }
      const { outcome, id } = await syncCatalogue(deps, source, request)
      log.event('info', 'catalogue_sync', { source: source.name, outcome, version: id })
    } catch (error) {
      logFailure(log, source.name, error, stopping.signal.aborted)
    }
  }

  /** One after another: each starts from the lists that the one before has saved. */
  const runAll = async () => {
    for (const source of sources) if (!stopping.signal.aborted) await run(source)
    const delayMs = await readDelay().catch(() => MAX_DELAY_MS)
    if (!stopping.signal.aborted) cancel = clock.after(delayMs, start)
  }
  const readDelay = async () => {
    const started = new Map((await deps.table.listSyncs()).map((sync) => [sync.source, sync.startedAt]))
    const dueAt = Math.min(...sources.map(({ name }) => (started.get(name) ?? 0) + everyMs))
    return Math.min(Math.max(dueAt - clock.now(), MIN_DELAY_MS), everyMs, MAX_DELAY_MS)
  }
  let cancel = () => {}
  let running: Promise<void> = Promise.resolve()
  const start = () => {
    running = runAll()
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
  // A pending or rejected review was logged as a warning when it was new.
  const isKnown = error instanceof AwaitsReview && !error.raised.isNew
  const review = error instanceof AwaitsReview ? { review: error.raised.id } : {}
  log.event(isKnown ? 'info' : 'warn', 'catalogue_sync', { source, outcome, ...review })
  // The other outcomes are expected, and their texts may quote the vendor.
  if (outcome === 'failed' && !isStopping) log.failure(error)
}
