import type { AuditEntry } from '../audit/row.ts'
import type { CatalogueFiles } from '../contract/bundles.ts'
import { DAY_MS } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { SourceTable } from '../sources/source-table.ts'
import { readShippedFolder } from './catalogue.ts'
import type { CatalogueTable, NewVersion, VersionHead, VersionRow } from './catalogue-table.ts'
import { parseFiles, toContent } from './content.ts'
import { type Change, diffFiles, listDoubts, summarise } from './diff.ts'
import type { ReviewTable } from './review-table.ts'

export type CatalogueDeps = {
  readonly table: CatalogueTable
  /** Lists that wait for a review. */
  readonly reviews: ReviewTable
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  /** The kill switch of the vendors. */
  readonly switches: Pick<SourceTable, 'listDisabled'>
}

export type Version = { readonly id: number; readonly digest: string; readonly files: CatalogueFiles }

/** The shipped lists are version 1. They are stored with the first change. */
const SHIPPED_ID = 1

/** New lists that are probably a mistake. */
export class Implausible extends UserError {
  override readonly name: string = 'Implausible'
  /** The reasons, one sentence each. */
  readonly doubts: readonly string[]

  constructor(
    doubts: readonly string[],
    advice = 'The lists stay unchanged. Give --force if the new lists are right.',
  ) {
    super(`${doubts.join(' ')} ${advice}`)
    this.doubts = doubts
  }
}

export async function readCurrent(table: CatalogueTable): Promise<Version> {
  const row = await table.newest()
  if (!row) return toShippedVersion()
  try {
    return toVersion(row)
  } catch {
    // Damaged, or written by a later release: servers use the shipped lists, and so do the commands that repair it.
    return { ...toShippedVersion(), id: row.id, digest: row.digest }
  }
}

export async function readVersion(table: CatalogueTable, id: number): Promise<Version> {
  const row = await table.find(id)
  if (row) return toVersion(row)
  if (id === SHIPPED_ID) return toShippedVersion()
  throw new UserError(
    `There is no version ${id} of the catalogue, or it was deleted: the newest ${VERSIONS_KEPT} are kept. See: tabbat catalogue history`,
  )
}

export function readShipped(): CatalogueFiles {
  const { internet, tv } = readShippedFolder()
  return { internet, tv }
}

/** Oldest first; the last is active. */
export async function listVersions(table: CatalogueTable): Promise<VersionHead[]> {
  const heads = await table.list()
  if (heads.length > 0) return heads
  return [{ id: SHIPPED_ID, at: 0, origin: 'shipped', author: '', digest: toShippedVersion().digest }]
}

export const SCHEDULE = 'schedule'
const BASELINE_MS = 7 * DAY_MS

/**
 * The lists that a scheduled sync is compared with, besides the active ones: the last version that a person made or accepted,
 * or the version of a week ago if that is newer. Otherwise many small changes could add up to an implausible one.
 */
export async function readBaseline(table: CatalogueTable, now: number): Promise<CatalogueFiles | undefined> {
  const heads = await table.list()
  const base = heads.findLast(({ author, at }) => author !== SCHEDULE || at <= now - BASELINE_MS)
  const row = base && (await table.find(base.id))
  try {
    return row && toVersion(row).files
  } catch {
    return undefined
  }
}

const VERSIONS_KEPT = 1000

/** Deletes some of the old versions. The one that readBaseline finds is kept, and what follows it. */
export const deleteExpiredVersions = (table: CatalogueTable, now: number): Promise<number> =>
  table.deleteExpired({ newest: VERSIONS_KEPT, author: SCHEDULE, at: now - BASELINE_MS })

function toShippedVersion(): Version {
  const files = readShipped()
  return { id: SHIPPED_ID, digest: toContent(files).digest, files }
}

const toVersion = ({ id, digest, content }: VersionRow): Version => ({
  id,
  digest,
  files: parseFiles(JSON.parse(content)),
})

type SaveRequest = {
  readonly files: CatalogueFiles
  readonly origin: string
  readonly author: string
  /** Accepts implausible lists. */
  readonly force?: boolean
  /** Changes nothing. */
  readonly dryRun?: boolean
  /** The lists must be plausible compared with this version too. */
  readonly baseline?: CatalogueFiles
  /** New dates alone make no new version. */
  readonly ignoreDates?: boolean
}

export type SaveResult = {
  readonly outcome: 'changed' | 'unchanged' | 'would change'
  /** The active version. */
  readonly id: number
  readonly changes: readonly Change[]
  /** Why the lists are implausible, when they were forced or in a dry run. */
  readonly doubts: readonly string[]
}

/** Activates new lists, after the change is in the audit log. */
export async function saveVersion(
  deps: Pick<CatalogueDeps, 'table' | 'audit'>,
  current: Version,
  request: SaveRequest,
): Promise<SaveResult> {
  const { files, origin, author, force = false, dryRun = false, ignoreDates = false } = request
  const changes = diffFiles(current.files, files)
  const compared = request.baseline ? [current.files, request.baseline] : [current.files]
  const doubts = [...new Set(compared.flatMap((before) => listDoubts(before, files)))]
  const fresh = toContent(files)
  const isSame = ignoreDates ? changes.length === 0 : fresh.digest === current.digest
  if (isSame) return { outcome: 'unchanged', id: current.id, changes, doubts: [] }
  if (dryRun) return { outcome: 'would change', id: current.id, changes, doubts }
  if (doubts.length > 0 && !force) throw new Implausible(doubts)
  const detail = `${origin}, after version ${current.id}: ${summarise(changes)}`
  await deps.audit.record([{ phase: 'catalogue_changed', outcome: 'ok', detail }])
  const version = { at: Date.now(), origin, author, ...fresh }
  const id = await append(deps, current, version, detail)
  return { outcome: 'changed', id, changes, doubts }
}

async function append(
  { table, audit }: Pick<CatalogueDeps, 'table' | 'audit'>,
  current: Version,
  version: NewVersion,
  detail: string,
): Promise<number> {
  try {
    // Stores the shipped lists as they are now: the next release may ship others.
    if ((await table.newestId()) > 0) return await table.append(current.id, [version])
    const shipped = { at: version.at, origin: 'shipped', author: '', ...toContent(current.files) }
    return await table.append(0, [shipped, version])
  } catch (error) {
    if (error instanceof UserError)
      await audit.record([{ phase: 'catalogue_changed', outcome: 'refused', detail }])
    throw error
  }
}
