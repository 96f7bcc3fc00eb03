import type { AuditEntry } from '../audit/row.ts'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import { DAY_MS } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { CatalogueTable, NewVersion, VersionHead, VersionRow } from '../store/catalogue-table.ts'
import type { ReviewTable } from '../store/review-table.ts'
import type { SourceTable } from '../store/source-table.ts'
import { parseFiles, toContent } from './content.ts'
import { type Change, diffFiles, summarise } from './diff.ts'
import { readShippedFolder } from './folder.ts'
import { listDoubts } from './plausible.ts'

/** What is needed to change the lists. */
export type CatalogueDeps = {
  readonly table: CatalogueTable
  /** Lists that wait for a person. */
  readonly reviews: ReviewTable
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  /** The kill switch of the vendors. */
  readonly switches: Pick<SourceTable, 'listDisabled'>
}

export type Version = { readonly id: number; readonly digest: string; readonly files: CatalogueFiles }

/** Until something is changed, the lists that shipped are version 1; they are written down with the first change. */
export const SHIPPED_ID = 1

/** New lists that are probably a mistake. */
export class Implausible extends UserError {
  override readonly name: string = 'Implausible'
  /** What speaks against them, a sentence each. */
  readonly doubts: readonly string[]

  constructor(
    doubts: readonly string[],
    advice = 'The lists stay as they are; give --force if that is meant to be.',
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
    // Damaged, or of a later release: the servers answer from the lists that shipped, and so does whoever mends it.
    return { ...toShippedVersion(), id: row.id, digest: row.digest }
  }
}

export async function readVersion(table: CatalogueTable, id: number): Promise<Version> {
  const row = await table.find(id)
  if (row) return toVersion(row)
  if (id === SHIPPED_ID) return toShippedVersion()
  throw new UserError(`There is no version ${id} of the catalogue. See: tabbat catalogue history`)
}

export function readShipped(): CatalogueFiles {
  const { internet, tv } = readShippedFolder()
  return { internet, tv }
}

/** Oldest first; the last is in force. */
export async function listVersions(table: CatalogueTable): Promise<VersionHead[]> {
  const heads = await table.list()
  if (heads.length > 0) return heads
  return [{ id: SHIPPED_ID, at: 0, origin: 'shipped', author: '', digest: toShippedVersion().digest }]
}

export const SCHEDULE = 'schedule'
const BASELINE_MS = 7 * DAY_MS

/**
 * What the schedule's lists are compared with beside those in force: the last version that a person made or accepted, or the
 * one of a week ago if that is newer. Otherwise many small steps would add up to what one step may not do.
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

function toShippedVersion(): Version {
  const files = readShipped()
  return { id: SHIPPED_ID, digest: toContent(files).digest, files }
}

const toVersion = ({ id, digest, content }: VersionRow): Version => ({
  id,
  digest,
  files: parseFiles(JSON.parse(content)),
})

export type Wish = {
  readonly files: CatalogueFiles
  readonly origin: string
  readonly author: string
  /** Takes lists that look like a mistake. */
  readonly force?: boolean
  /** Looks, and changes nothing. */
  readonly dryRun?: boolean
  /** An older version that the lists must be plausible against, too. */
  readonly baseline?: CatalogueFiles
  /** New dates alone are no reason for a new version. */
  readonly ignoreDates?: boolean
}

export type Outcome = {
  readonly outcome: 'changed' | 'unchanged' | 'would change'
  /** The version that is in force now. */
  readonly id: number
  readonly changes: readonly Change[]
  /** Why these lists look like a mistake; they were forced, or it was only a look. */
  readonly doubts: readonly string[]
}

/** Puts new lists in force. It is in the audit log before it happens, or it does not happen. */
export async function saveVersion(
  desk: Pick<CatalogueDeps, 'table' | 'audit'>,
  current: Version,
  wish: Wish,
): Promise<Outcome> {
  const { files, origin, author, force = false, dryRun = false, ignoreDates = false } = wish
  const changes = diffFiles(current.files, files)
  const compared = wish.baseline ? [current.files, wish.baseline] : [current.files]
  const doubts = [...new Set(compared.flatMap((before) => listDoubts(before, files)))]
  const fresh = toContent(files)
  const isSame = ignoreDates ? changes.length === 0 : fresh.digest === current.digest
  if (isSame) return { outcome: 'unchanged', id: current.id, changes, doubts: [] }
  if (dryRun) return { outcome: 'would change', id: current.id, changes, doubts }
  if (doubts.length > 0 && !force) throw new Implausible(doubts)
  const detail = `${origin}, after version ${current.id}: ${summarise(changes)}`
  await desk.audit.record([{ phase: 'catalogue_changed', outcome: 'ok', detail }])
  const version = { at: Date.now(), origin, author, ...fresh }
  const id = await append(desk, current, version, detail)
  return { outcome: 'changed', id, changes, doubts }
}

async function append(
  { table, audit }: Pick<CatalogueDeps, 'table' | 'audit'>,
  current: Version,
  version: NewVersion,
  detail: string,
): Promise<number> {
  try {
    // The lists that shipped are kept as they were on this day: the next release may bring others.
    if ((await table.newestId()) > 0) return await table.append(current.id, [version])
    const shipped = { at: version.at, origin: 'shipped', author: '', ...toContent(current.files) }
    return await table.append(0, [shipped, version])
  } catch (error) {
    if (error instanceof UserError)
      await audit.record([{ phase: 'catalogue_changed', outcome: 'refused', detail }])
    throw error
  }
}
