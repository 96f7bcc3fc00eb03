import type { KeyObject } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { monthOf, startOf } from '../../ledger/audit-months.ts'
import type { LoggedRow } from '../../ledger/audit-row.ts'
import type { Chain, Head } from '../audit-chains.ts'
import { compareTime, MAX_REFERENCE_ROWS, type Period, toPeriod } from '../audit-queries.ts'
import type { AuditStore } from '../audit-store.ts'
import type { AuditTable, Checkpoint } from '../audit-table.ts'
import type { ArchiveStatement, BlockPlace } from './archive-format.ts'
import { type IndexedColumn, type OpenArchive, openArchives } from './open-archives.ts'
import { type CheckDigest, createDigestCheck } from './read-archive.ts'

/** The audit log in the database and in archives. */
export type WholeLog<S extends AuditStore = AuditStore> = {
  /** Its `audit` reads both. */
  readonly store: S
  readonly archived: ArchivedLog
  /** The archives that the database names and that were not opened. */
  readonly missing: readonly Pick<ArchiveStatement, 'number' | 'before' | 'rows'>[]
  /** Why files were not opened, if that is allowed. */
  readonly problems: readonly string[]
  /** How many archives the database names. */
  readonly count: number
  readonly close: () => Promise<void>
}

type WholeLogOptions = {
  readonly publicKey: KeyObject
  readonly check?: CheckDigest
  /** Ends a search of archives by index. */
  readonly isOver?: () => boolean
  /** Leaves out archives that cannot be opened or were changed. */
  readonly skips?: boolean
}

/** Opens the archives in these files. One that was changed is refused, or left out. */
export async function openWholeLog<S extends AuditStore>(
  store: S,
  paths: readonly string[],
  { publicKey, check = createDigestCheck(), isOver, skips = false }: WholeLogOptions,
): Promise<WholeLog<S>> {
  const problems: string[] = []
  const onProblem = skips ? (problem: string) => void problems.push(problem) : undefined
  const opened = await openArchives(paths, (file) => check(file, publicKey), onProblem)
  const archived = createArchivedLog(opened, isOver)
  const stated = await store.archives.list()
  const found = new Set(opened.map(({ file }) => file.signed.statement))
  const missing = stated
    .filter(({ statement }) => !found.has(statement))
    .map(({ number, statement }) => ({ ...(JSON.parse(statement) as ArchiveStatement), number }))
    .map(({ number, before, rows }) => ({ number, before, rows }))
  const audit = opened.length === 0 ? store.audit : await mergeTables(store.audit, archived)
  const { length: count } = stated
  return { store: { ...store, audit }, archived, missing, problems, count, close: archived.close }
}

/** Which archives were not searched; undefined if all were. */
export function toMissingText({ missing, count }: WholeLog): string | undefined {
  const last = missing
    .map(({ before }) => before)
    .sort()
    .at(-1)
  const what = last === undefined ? '' : `: rows from before ${last} may be missing`
  return missing.length === 0
    ? undefined
    : `${missing.length} of ${count} archives of the audit log were not searched${what}.`
}

/** A chain is read from its archive if the database says that it is archived: rows of it may be removed at any time. */
async function mergeTables(table: AuditTable, archived: ArchivedLog): Promise<AuditTable> {
  const chains = (await table.chains()).filter(({ chain, isArchived }) => isArchived && archived.has(chain))
  const names = new Set(chains.map(({ chain }) => chain))
  const of = (chain: string) => (names.has(chain) ? archived : table)
  const findIn = async (
    column: 'subject' | 'consent_reference',
    text: string,
    most: number | undefined,
    inDatabase: readonly LoggedRow[],
  ) => {
    const wanted = most === undefined ? undefined : most - inDatabase.length
    if (wanted !== undefined && wanted <= 0) return [...inDatabase]
    return mergeRows(inDatabase, await archived.find(column, [text], { most: wanted }))
  }
  return {
    ...table,
    chains: async () => {
      const all = await table.chains()
      return all.map((each) => (names.has(each.chain) ? toRead(each, archived) : each))
    },
    head: (chain) => of(chain).head(chain),
    page: (chain, after, most) => of(chain).page(chain, after, most),
    pageBack: (chain, before, most) => of(chain).pageBack(chain, before, most),
    timeFrom: (chain, sequence) => of(chain).timeFrom(chain, sequence),
    lastUntil: (chain, range, time) => of(chain).lastUntil(chain, range, time),
    hashes: (chain, after, upTo) => of(chain).hashes(chain, after, upTo),
    byReference: async (reference, most = MAX_REFERENCE_ROWS) => {
      const keep: KeepRows = (rows) => leaveOutReplays(rows, most)
      const found = await table.byReference(reference, most)
      const all = mergeRows(found, await archived.find('request_reference', [reference], { keep }))
      return keep(all).sort(compareTime)
    },
    periodOf: async (reference) => {
      const inDatabase = await table.periodOf(reference)
      const rows = await archived.find('request_reference', [reference], { keep: keepEnds })
      return toPeriod([
        inDatabase?.from,
        inDatabase?.to,
        ...rows.flatMap((row) => [startOfRow(row), row.time]),
      ])
    },
    subjectOf: async (reference) => {
      const keep: KeepRows = (rows) => rows.filter(({ subject }) => subject !== null).slice(0, 1)
      const [row] = await archived.find('request_reference', [reference], { most: 1, keep })
      return row?.subject ?? (await table.subjectOf(reference))
    },
    byReferences: async (references, most, near) => {
      const keep: KeepRows = (rows) => leaveOutReplays(rows, most)
      const found = await table.byReferences(references, most)
      return keep(mergeRows(found, await archived.find('request_reference', references, { near, keep })))
    },
    pageOfReference: async (reference, after, most) => {
      const keep: KeepRows = (rows) =>
        rows
          .filter((row) => comparePlaces(row, after) > 0)
          .sort(comparePlaces)
          .slice(0, most)
      const found = await table.pageOfReference(reference, after, most)
      return keep(mergeRows(found, await archived.find('request_reference', [reference], { keep })))
    },
    bySubject: async (subject, most) =>
      findIn('subject', subject, most, await table.bySubject(subject, most)),
    byConsent: async (consent, most) =>
      findIn('consent_reference', consent, most, await table.byConsent(consent, most)),
  }
}

const toRead = (chain: Chain, archived: ArchivedLog): Chain => ({
  ...chain,
  isArchived: false,
  retiredAt: Date.parse(archived.latest(chain.chain)),
})

/** Stored responses that were returned come last, the newest at the end: there may be very many. */
const leaveOutReplays = (rows: readonly LoggedRow[], most: number) =>
  rows.toSorted((one, other) => rank(one) - rank(other) || compareTime(one, other)).slice(0, most)

const rank = ({ phase }: LoggedRow) => (phase === 'replay' ? 1 : 0)

/** The row that started first and the last row. */
const keepEnds: KeepRows = (rows) => {
  const byStart = rows.toSorted((one, other) => (startOfRow(one) < startOfRow(other) ? -1 : 1))
  return [...byStart.slice(0, 1), ...rows.toSorted(compareTime).slice(-1)]
}

const startOfRow = ({ time, started_at }: LoggedRow) => started_at ?? time

type RowPlace = Pick<LoggedRow, 'chain' | 'sequence'>

function comparePlaces(one: RowPlace, other: RowPlace): number {
  if (one.chain !== other.chain) return one.chain < other.chain ? -1 : 1
  return one.sequence - other.sequence
}

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
function mergeRows(inDatabase: readonly LoggedRow[], archived: readonly LoggedRow[]): LoggedRow[] {
  const rows = new Map([...archived, ...inDatabase].map((row) => [`${row.chain} ${row.sequence}`, row]))
  return [...rows.values()].sort(compareTime)
}

/** Reads a chain whose rows are in an archive, like the table of the database. */
type ChainReads = Pick<AuditTable, 'head' | 'pageBack' | 'page' | 'timeFrom' | 'lastUntil' | 'hashes'>

/** The rows of open archives. */
export type ArchivedLog = ChainReads & {
  readonly has: (chain: string) => boolean
  /** No row of the chain is later: the checkpoints of seven more days name it. */
  readonly latest: (chain: string) => string
  /** The rows with one of these texts, in no order. */
  readonly find: (
    column: IndexedColumn,
    texts: readonly string[],
    limits?: FindLimits,
  ) => Promise<LoggedRow[]>
  /** Checkpoints of the archive of a chain: first those after a time, then all. */
  readonly checkpoints: (chain: string, after: string) => AsyncIterable<readonly Checkpoint[]>
  /** Whether a search ended before all archives were read. */
  readonly isCut: () => boolean
  readonly close: () => Promise<void>
}

/** Which of the rows that were found so far are needed. */
type KeepRows = (rows: readonly LoggedRow[]) => LoggedRow[]

type FindLimits = {
  /** At least that many rows, if there are. */
  readonly most?: number | undefined
  /** Archives that have no rows of this time are left out. */
  readonly near?: Period | undefined
  /** Is called after each block, so that few rows are in memory. */
  readonly keep?: KeepRows
}

type ArchivedChain = { readonly archive: OpenArchive; readonly blocks: readonly BlockPlace[] }

/** `isOver` ends a search by index: a request to the server has a time limit. */
function createArchivedLog(
  archives: readonly OpenArchive[],
  isOver: () => boolean = () => false,
): ArchivedLog {
  const chains = new Map<string, ArchivedChain>()
  for (const archive of archives)
    for (const [chain, blocks] of Map.groupBy(archive.reader.blocks, (block) => block.chain))
      chains.set(chain, { archive, blocks })
  let isCut = false
  return {
    ...createChainReads(chains),
    has: (chain) => chains.has(chain),
    latest: (chain) => chains.get(chain)?.archive.statement.checkpoints_until ?? '',
    find: async (column, texts, { most = Number.POSITIVE_INFINITY, near, keep } = {}) => {
      let rows: LoggedRow[] = []
      const places = archives
        .filter(({ statement }) => mayHave(statement, near))
        .flatMap((archive) => archive.reader.blocks.map((block) => ({ archive, block })))
      for (const { archive, block } of places.reverse()) {
        if (rows.length >= most) return rows
        if (isOver()) {
          isCut = true
          return rows
        }
        const found = await archive.find(block, column, texts)
        if (keep) rows = keep([...rows, ...found])
        else rows.push(...found)
      }
      return rows
    },
    checkpoints: async function* (chain, after) {
      const archive = chains.get(chain)?.archive
      if (archive) yield* readCheckpoints(archive, after)
    },
    isCut: () => isCut,
    close: async () => {
      for (const { file } of archives) await file.close()
    },
  }
}

function mayHave({ chains, checkpoints_until: latest }: ArchiveStatement, near: Period | undefined): boolean {
  if (near === undefined) return true
  const isLater = chains.every(({ chain }) => {
    const month = monthOf(chain)
    return month !== undefined && startOf(month) > Date.parse(near.to)
  })
  return latest >= near.from && !isLater
}

function createChainReads(chains: ReadonlyMap<string, ArchivedChain>): ChainReads {
  const blocksOf = (chain: string, from: number, to: number) =>
    (chains.get(chain)?.blocks ?? []).filter((block) => block.last >= from && block.first <= to)
  const open = (block: BlockPlace) => chains.get(block.chain)?.archive.open(block)
  const read = async (chain: string, from: number, to: number): Promise<LoggedRow[]> => {
    const rows: LoggedRow[] = []
    for (const block of blocksOf(chain, from, to))
      rows.push(...((await (await open(block))?.rows(from, to)) ?? []))
    return rows
  }
  const lastOf = (chain: string) => chains.get(chain)?.blocks.at(-1)?.last ?? 0
  return {
    head: async (chain): Promise<Head | undefined> => {
      const last = lastOf(chain)
      const [row] = await read(chain, last, last)
      return row && { sequence: row.sequence, hash: row.hash }
    },
    page: (chain, after, most) => read(chain, after + 1, after + most),
    pageBack: async (chain, before, most) => {
      const end = Math.min(before - 1, lastOf(chain))
      return (await read(chain, end - most + 1, end)).reverse()
    },
    timeFrom: async (chain, from) => {
      const sequence = Math.max(from, 1)
      const [block] = blocksOf(chain, sequence, sequence)
      const time = block && (await open(block))?.timeOf(sequence)
      return time === undefined ? undefined : { sequence, time }
    },
    lastUntil: async (chain, { from, before }, time) => {
      for (const block of blocksOf(chain, from, before - 1).reverse()) {
        const opened = await open(block)
        const first = Math.max(from, block.first)
        for (let at = Math.min(before - 1, block.last); opened && at >= first; at--)
          if (opened.timeOf(at) <= time) return at
      }
      return undefined
    },
    hashes: async (chain, after, upTo) => {
      const hashes: Uint8Array[] = []
      for (const block of blocksOf(chain, after + 1, upTo)) {
        const all = (await (await open(block))?.hashes()) ?? []
        const some = all.slice(Math.max(after + 1 - block.first, 0), upTo - block.first + 1)
        hashes.push(...some.map((hash) => Buffer.from(hash, 'hex')))
      }
      return hashes
    },
  }
}

/** By bisection: there may be half a million for a year. */
async function* readCheckpoints({ reader }: OpenArchive, after: string) {
  const { checkpointFrames: count, readCheckpointFrame: read } = reader
  let [low, high] = [0, count]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const last = (await read(middle)).at(-1)
    if (last && last.time < after) low = middle + 1
    else high = middle
  }
  for (let index = low; index < count; index++) yield await read(index)
  for (let index = 0; index < low; index++) yield await read(index)
}
