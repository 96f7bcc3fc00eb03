import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import { UserError } from '../errors.ts'
import { withDeadline } from '../sources/deadline.ts'
import { type Source, SourceError } from '../sources/source.ts'
import { refuseUnclean } from './clean.ts'
import { mergeFiles, parseFiles } from './content.ts'
import { CatalogueFileError } from './file.ts'
import { AwaitsReview, raiseReview } from './review.ts'
import {
  type CatalogueDeps,
  Implausible,
  type Outcome,
  readBaseline,
  readCurrent,
  SCHEDULE,
  saveVersion,
} from './versions.ts'

/** All questions to one vendor together. */
const SYNC_MS = 60_000
/** A vendor's value may be quoted in what is wrong with it, and may be long. */
const MOST_SHOWN = 300

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

/** The vendor's lists break our rules: they are not taken, whoever insists. */
export class Unusable extends UserError {
  override readonly name = 'Unusable'
}

/** The operator has switched the vendor off: it is not asked, by hand or by the clock. */
export class SwitchedOff extends UserError {
  override readonly name = 'SwitchedOff'
}

/** Fetches the lists of one vendor and puts them in force. Every run is in the audit log, but for one that only looks. */
export async function syncCatalogue(
  desk: CatalogueDeps,
  source: Source,
  wish: SyncRequest,
): Promise<Outcome> {
  const { startedAt = Date.now() } = wish
  const finish = async (outcome: string) => {
    if (wish.dryRun) return
    // A change has a row of its own.
    if (outcome !== 'changed')
      await desk.audit.record([{ phase: 'catalogue_sync', outcome, detail: source.name }])
    await desk.table.recordSync(source.name, startedAt, outcome)
  }
  try {
    const result = await fetchAndSave(desk, source, wish)
    await finish(result.outcome)
    return result
  } catch (error) {
    await finish(toOutcome(error))
    throw error
  }
}

async function fetchAndSave(desk: CatalogueDeps, source: Source, wish: SyncRequest): Promise<Outcome> {
  if ((await desk.switches.listDisabled()).includes(source.name))
    throw new SwitchedOff(
      `${source.name} is switched off, and was not asked. Let it be asked again first: tabbat sources enable ${source.name}`,
    )
  const { author, force = false, dryRun = false } = wish
  const current = await readCurrent(desk.table)
  const fetched = await fetchLists(source, current.files, wish)
  const proposed = parseFetched(source.name, toDated(current.files, fetched), current.files)
  const files = mergeFiles(current.files, proposed)
  const baseline = author === SCHEDULE ? await readBaseline(desk.table, Date.now()) : undefined
  try {
    const save = { files, origin: source.name, author, force, dryRun, ignoreDates: true }
    const outcome = await saveVersion(desk, current, { ...save, ...(baseline && { baseline }) })
    if (!dryRun) await desk.reviews.withdraw(source.name, Date.now())
    return outcome
  } catch (error) {
    if (!(error instanceof Implausible)) throw error
    throw await raiseReview(desk.reviews, source.name, proposed, error.doubts)
  }
}

/** Ends at the limit also when the source does not heed the signal. */
async function fetchLists(
  source: Source,
  current: CatalogueFiles,
  wish: SyncRequest,
): Promise<CatalogueFiles> {
  const ask = source.fetchCatalogue?.bind(source)
  if (!ask) throw new UserError(`${source.name} has no lists to fetch.`)
  const fetchBefore = async (signal: AbortSignal) => {
    const ended = Promise.withResolvers<never>()
    const end = () => ended.reject(new SourceError(source.name, 'timeout', { trouble: 'too_slow' }))
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    return Promise.race([ask(current, { signal, reference: 'catalogue' }), ended.promise])
  }
  return withDeadline(wish.limitMs ?? SYNC_MS, fetchBefore, wish.signal)
}

/** What a vendor has brought is of today. What it does not sell comes back as it was, and stays as old as it is. */
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
    // What was in force before is not the vendor's.
    refuseUnclean({
      internet: parsed.internet.filter((list) => !known.has(list)),
      tv: parsed.tv.filter((list) => !known.has(list)),
    })
    return parsed
  } catch (error) {
    if (!(error instanceof CatalogueFileError)) throw error
    const [first = ''] = error.message.split('\n')
    throw new Unusable(`${source} sent a list that cannot be used: ${first.slice(0, MOST_SHOWN)}`)
  }
}

/** One word for the log and the audit: none of the vendor's. */
export function toOutcome(error: unknown): string {
  if (error instanceof SourceError) return error.reason
  if (error instanceof SwitchedOff) return 'disabled'
  if (error instanceof AwaitsReview && !error.raised.isNew)
    return error.raised.state === 'rejected' ? 'rejected' : 'waiting'
  if (error instanceof Implausible) return 'implausible'
  if (error instanceof Unusable) return 'bad_response'
  return error instanceof UserError ? 'refused' : 'failed'
}
