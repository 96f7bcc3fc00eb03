import type { CatalogueFiles } from '../contract/bundles.ts'
import { UserError } from '../errors.ts'
import { type Source, SourceError } from '../sources/source.ts'
import type { Log } from '../telemetry/log.ts'
import { withDeadline } from '../telemetry/running-clock.ts'
import { CatalogueFileError, mergeFiles, parseFiles, refuseUnclean } from './content.ts'
import { AwaitsReview, raiseReview } from './review.ts'
import {
  type CatalogueDeps,
  Implausible,
  readBaseline,
  readCurrent,
  type SaveResult,
  SCHEDULE,
  saveVersion,
} from './versions.ts'

/** The time limit for all requests to one vendor. */
const SYNC_MS = 60_000
/** The message may quote a vendor's value, which may be long. */
const MAX_SHOWN = 300

export type SyncRequest = {
  readonly author: string
  readonly force?: boolean
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
  /** When the schedule claimed the run; the next is due by this time. */
  readonly startedAt?: number
  /** Shorter in tests. */
  readonly limitMs?: number
}

/** The vendor's lists are invalid. Not even --force accepts them. */
export class UnusableLists extends UserError {
  override readonly name = 'UnusableLists'
}

/** The operator has disabled the vendor. */
class VendorDisabled extends UserError {
  override readonly name = 'VendorDisabled'
}

/** Fetches the lists of one vendor and activates them. Every run but a dry run is in the audit log. */
export async function syncCatalogue(
  deps: CatalogueDeps,
  source: Source,
  request: SyncRequest,
): Promise<SaveResult> {
  const { startedAt = Date.now() } = request
  const finish = async (outcome: string) => {
    if (request.dryRun) return
    // A change has a row of its own.
    if (outcome !== 'changed')
      await deps.audit.record([{ phase: 'catalogue_sync', outcome, detail: source.name }])
    await deps.table.recordSync(source.name, startedAt, outcome)
  }
  try {
    const result = await fetchAndSave(deps, source, request)
    await finish(result.outcome)
    return result
  } catch (error) {
    await finish(toOutcome(error))
    throw error
  }
}

async function fetchAndSave(deps: CatalogueDeps, source: Source, request: SyncRequest): Promise<SaveResult> {
  if ((await deps.switches.listDisabled()).includes(source.name))
    throw new VendorDisabled(
      `${source.name} is disabled. Enable it first: tabbat sources enable ${source.name}`,
    )
  const { author, force = false, dryRun = false } = request
  const current = await readCurrent(deps.table)
  const fetched = await fetchLists(source, current.files, request)
  const proposed = parseFetched(source.name, toDated(current.files, fetched), current.files)
  const files = mergeFiles(current.files, proposed)
  const baseline = author === SCHEDULE ? await readBaseline(deps.table, Date.now()) : undefined
  try {
    const save = { files, origin: source.name, author, force, dryRun, ignoreDates: true }
    const outcome = await saveVersion(deps, current, { ...save, ...(baseline && { baseline }) })
    if (!dryRun) await deps.reviews.withdraw(source.name, Date.now())
    return outcome
  } catch (error) {
    if (!(error instanceof Implausible)) throw error
    throw await raiseReview(deps.reviews, source.name, proposed, error.doubts)
  }
}

/** Ends at the time limit even when the source ignores the signal. */
async function fetchLists(
  source: Source,
  current: CatalogueFiles,
  request: SyncRequest,
): Promise<CatalogueFiles> {
  const fetchCatalogue = source.fetchCatalogue?.bind(source)
  if (!fetchCatalogue) throw new UserError(`${source.name} has no lists to fetch.`)
  const fetchBefore = async (signal: AbortSignal) => {
    const ended = Promise.withResolvers<never>()
    const end = () => ended.reject(new SourceError(source.name, 'timeout', { problem: 'too_slow' }))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    return Promise.race([fetchCatalogue(current, { signal, reference: 'catalogue' }), ended.promise])
  }
  return withDeadline(request.limitMs ?? SYNC_MS, fetchBefore, request.signal)
}

/** Fetched lists get today's date. Lists that the vendor returned unchanged keep theirs. */
function toDated(current: CatalogueFiles, { internet, tv }: CatalogueFiles): CatalogueFiles {
  const as_of = new Date().toISOString().slice(0, 10)
  const known = new Set<unknown>([...current.internet, ...current.tv])
  const date = <T extends object>(lists: readonly T[]) =>
    lists.map((list) => (known.has(list) ? list : { ...list, as_of }))
  return { internet: date(internet), tv: date(tv) }
}

function parseFetched(source: string, files: CatalogueFiles, current: CatalogueFiles): CatalogueFiles {
  const known = new Set<unknown>([...current.internet, ...current.tv])
  try {
    const parsed = parseFiles(files)
    // Lists that were active before do not come from the vendor.
    refuseUnclean({
      internet: parsed.internet.filter((list) => !known.has(list)),
      tv: parsed.tv.filter((list) => !known.has(list)),
    })
    return parsed
  } catch (error) {
    if (!(error instanceof CatalogueFileError)) throw error
    const [first = ''] = error.message.split('\n')
    throw new UnusableLists(`${source} sent a list that cannot be used: ${first.slice(0, MAX_SHOWN)}`)
  }
}

/** One word for the log and the audit log, never a vendor's text. */
export function toOutcome(error: unknown): string {
  if (error instanceof SourceError) return error.reason
  if (error instanceof VendorDisabled) return 'disabled'
  if (error instanceof AwaitsReview && !error.raised.isNew)
    return error.raised.state === 'rejected' ? 'rejected' : 'waiting'
  if (error instanceof Implausible) return 'implausible'
  if (error instanceof UnusableLists) return 'bad_response'
  return error instanceof UserError ? 'refused' : 'failed'
}

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
