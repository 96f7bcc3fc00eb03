import { Refusal } from '../errors.ts'
import { type Source, SourceError } from '../sources/source.ts'
import { mergeFiles, parseFiles } from './content.ts'
import { CatalogueFileError, type CatalogueFiles } from './file.ts'
import { type CatalogueDesk, Implausible, type Outcome, readCurrent, saveVersion } from './versions.ts'

/** All questions to one vendor together. */
const SYNC_MS = 120_000
/** A vendor's value may be quoted in what is wrong with it, and may be long. */
const MOST_SHOWN = 300

export type SyncWish = {
  readonly author: string
  readonly force?: boolean
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
}

/** The vendor's lists break our rules: they are not taken, whoever insists. */
export class Unusable extends Refusal {
  override readonly name = 'Unusable'
}

/** The operator has switched the vendor off: it is not asked, by hand or by the clock. */
export class SwitchedOff extends Refusal {
  override readonly name = 'SwitchedOff'
}

/** Fetches the lists of one vendor and puts them in force. Every run is in the audit log, but for one that only looks. */
export async function syncCatalogue(desk: CatalogueDesk, source: Source, wish: SyncWish): Promise<Outcome> {
  const startedAt = Date.now()
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

async function fetchAndSave(desk: CatalogueDesk, source: Source, wish: SyncWish): Promise<Outcome> {
  if (!source.fetchCatalogue) throw new Refusal(`${source.name} has no lists to fetch.`)
  if ((await desk.switches.listDisabled()).includes(source.name))
    throw new SwitchedOff(
      `${source.name} is switched off, and was not asked. Let it be asked again first: tabbat sources enable ${source.name}`,
    )
  const { author, force = false, dryRun = false } = wish
  const current = await readCurrent(desk.table)
  const timeout = AbortSignal.timeout(SYNC_MS)
  const signal = wish.signal ? AbortSignal.any([timeout, wish.signal]) : timeout
  const fetched = await source.fetchCatalogue(current.files, { signal, reference: 'catalogue' })
  const files = mergeFiles(current.files, parseFetched(source.name, toDated(current.files, fetched)))
  return saveVersion(desk, current, { files, origin: source.name, author, force, dryRun, ignoreDates: true })
}

/** What a vendor has brought is of today. What it does not sell comes back as it was, and stays as old as it is. */
function toDated(current: CatalogueFiles, { internet, tv }: CatalogueFiles): CatalogueFiles {
  const as_of = new Date().toISOString().slice(0, 10)
  const known = new Set<unknown>([...current.internet, ...current.tv])
  const date = <T extends object>(lists: readonly T[]) =>
    lists.map((list) => (known.has(list) ? list : { ...list, as_of }))
  return { internet: date(internet), tv: date(tv) }
}

function parseFetched(source: string, files: CatalogueFiles): CatalogueFiles {
  try {
    return parseFiles(files)
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
  if (error instanceof Implausible) return 'implausible'
  if (error instanceof Unusable) return 'bad_response'
  return error instanceof Refusal ? 'refused' : 'failed'
}
