import type { KeyObject } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../../errors.ts'
import type { LoggedRow } from '../../store/audit-row.ts'
import { createRowHasher, HASHED_FIELDS } from '../verify-row.ts'
import { ARCHIVE_COLUMNS, type BlockPlace, toContent } from './archive-format.ts'
import { findInIndex } from './archive-index.ts'
import { openStatement } from './archive-statement.ts'
import { type ArchiveReader, openArchive } from './read-archive.ts'

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

/** How many archives that the database names are not among these files, which may be copies or of an interrupted run. */
export async function countMissing(
  stated: readonly { readonly statement: string }[],
  paths: readonly string[],
): Promise<number> {
  const found = new Set<string>()
  for (const path of paths) {
    const { signed, close } = await openArchive(path)
    found.add(signed.statement)
    await close()
  }
  return stated.filter(({ statement }) => !found.has(statement)).length
}

type Wanted = { readonly subject: string } | { readonly request_reference: string }

/** The rows with this reference or subject in all archives, oldest first. An archive of another log is refused. */
export async function searchArchives(
  paths: readonly string[],
  wanted: Wanted,
  publicKey: KeyObject,
): Promise<LoggedRow[]> {
  const rows: LoggedRow[] = []
  for (const path of paths) {
    const reader = await openArchive(path)
    try {
      if (!openStatement(reader.signed, publicKey))
        throw new UserError(
          `${path} is not an archive of this audit log: its statement has no valid signature.`,
        )
      rows.push(...(await searchArchive(reader, wanted)))
    } finally {
      await reader.close()
    }
  }
  return mergeRows([], rows)
}

/** Each row once, oldest first: an interrupted removal leaves rows both in an archive and in the database. */
export function mergeRows(inDatabase: readonly LoggedRow[], archived: readonly LoggedRow[]): LoggedRow[] {
  const rows = new Map([...archived, ...inDatabase].map((row) => [`${row.chain} ${row.sequence}`, row]))
  return [...rows.values()].sort(compareTime)
}

function compareTime(one: LoggedRow, other: LoggedRow): number {
  if (one.time !== other.time) return one.time < other.time ? -1 : 1
  return one.sequence - other.sequence
}

async function searchArchive(reader: ArchiveReader, wanted: Wanted): Promise<LoggedRow[]> {
  const rows: LoggedRow[] = []
  const policies = await reader.readPolicies()
  const [[column, text]] = Object.entries(wanted) as [['subject' | 'request_reference', string]]
  for (const block of reader.blocks) {
    const index = toContent(column === 'subject' ? block.subjects : block.references)
    const sequences = await findInIndex(reader.readBytes, index, text, block.first)
    if (sequences.length === 0) continue
    const some = (await readRows(reader, block, policies)).filter((row) => row[column] === text)
    rows.push(...some)
  }
  return rows
}

/** The hashes of the rows are computed: an archive holds only the first and the last of a block. */
async function readRows(
  reader: ArchiveReader,
  place: BlockPlace,
  policies: ReadonlyMap<string, string>,
): Promise<LoggedRow[]> {
  const { header, rows } = await reader.readBlock(place)
  const hashRow = createRowHasher()
  let previous = header.previous_hash
  return rows.map((cells, index) => {
    const fields = Object.fromEntries(ARCHIVE_COLUMNS.map((column, at) => [column, cells[at]])) as Omit<
      LoggedRow,
      'chain' | 'sequence' | 'previous_hash' | 'hash' | 'released'
    >
    const { chain } = header
    const sequence = header.first + index
    const hash =
      hashRow([chain, sequence, ...cells.slice(0, HASHED_FIELDS.length - 2)], previous, fields.format) ?? ''
    const hashes = { previous_hash: Buffer.from(previous, 'hex'), hash: Buffer.from(hash, 'hex') }
    previous = hash
    const released =
      fields.format === 1 ? fields.fields_released : policies.get(String(fields.fields_released))
    return { ...fields, chain, sequence, ...hashes, released: released ?? null }
  })
}
