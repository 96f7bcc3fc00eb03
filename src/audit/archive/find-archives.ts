import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { LoggedRow } from '../../ledger/audit-row.ts'

export const ARCHIVE_SUFFIX = '.audit.zst'

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** The archives under these paths: files, or folders with files of that suffix. */
export const findArchives = (paths: readonly string[]): string[] => [
  ...new Set(paths.flatMap((path) => (isFolder(path) ? listFolder(path) : [path]))),
]

/** The archives in the folder of TABBAT_AUDIT_ARCHIVE_DIR, which does not exist before the first one. */
export const findArchivesOf = (folder: string | undefined): string[] =>
  folder !== undefined && isFolder(folder) ? listFolder(folder) : []

const listFolder = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ARCHIVE_SUFFIX))
    .toSorted()
    .map((name) => join(folder, name))

/** Each row once, oldest first: an interrupted removal leaves rows both in an archive and in the database. */
export function mergeRows(inDatabase: readonly LoggedRow[], archived: readonly LoggedRow[]): LoggedRow[] {
  const rows = new Map([...archived, ...inDatabase].map((row) => [`${row.chain} ${row.sequence}`, row]))
  return [...rows.values()].sort(compareTime)
}

function compareTime(one: LoggedRow, other: LoggedRow): number {
  if (one.time !== other.time) return one.time < other.time ? -1 : 1
  return one.sequence - other.sequence
}
