import { setImmediate as nextTurn } from 'node:timers/promises'
import { UserError } from '../../errors.ts'
import type { LoggedRow } from '../../ledger/audit-row.ts'
import { createRowHasher, HASHED_FIELDS } from '../verify/row-hasher.ts'
import {
  ARCHIVE_COLUMNS,
  type ArchiveStatement,
  type BlockHeader,
  type BlockPlace,
  findInIndex,
  type Place,
  toContent,
  toLines,
} from './archive-format.ts'
import { type ArchiveReader, type FoundArchive, openArchive, UnreadableArchive } from './read-archive.ts'

/** An archive that is open and was compared with its signed digest. */
export type OpenArchive = {
  readonly file: FoundArchive
  readonly reader: ArchiveReader
  readonly statement: ArchiveStatement
  readonly open: (block: BlockPlace) => Promise<OpenBlock>
  /** The rows of a block with one of these texts in a column. */
  readonly find: (block: BlockPlace, column: IndexedColumn, texts: readonly string[]) => Promise<LoggedRow[]>
}

export type IndexedColumn = 'subject' | 'request_reference' | 'consent_reference'

/** Blocks in memory at a time, of up to some 4 MB each: as many as chains that are read at the same time, mostly. */
const MAX_BLOCKS = 12
/** Indexes in memory, of some 80 kB each. */
const MAX_INDEXES = 300

/**
 * A copy of an archive that is open already is left out, and with `onProblem` also a file that cannot be opened or does not pass
 * the check.
 */
export async function openArchives(
  paths: readonly string[],
  check: (file: FoundArchive) => Promise<ArchiveStatement>,
  onProblem?: ((problem: string) => void) | undefined,
): Promise<OpenArchive[]> {
  const opened = new Map<string, OpenArchive>()
  const caches = { blocks: createCache<OpenBlock>(MAX_BLOCKS), indexes: createCache<Buffer>(MAX_INDEXES) }
  for (const path of paths)
    try {
      const file = await openArchive(path)
      if (opened.has(file.signed.statement)) await file.close()
      else opened.set(file.signed.statement, await openChecked(file, check, caches))
    } catch (error) {
      if (onProblem && error instanceof UserError) {
        onProblem(error.message)
        continue
      }
      for (const { file } of opened.values()) await file.close()
      throw error
    }
  return [...opened.values()]
}

async function openChecked(
  file: FoundArchive,
  check: (file: FoundArchive) => Promise<ArchiveStatement>,
  caches: Caches,
): Promise<OpenArchive> {
  try {
    return await toOpen(file, await check(file), caches)
  } catch (error) {
    await file.close()
    throw error
  }
}

type Caches = { readonly blocks: Cache<OpenBlock>; readonly indexes: Cache<Buffer> }

/** The statement was checked, and the content is the one that it is about. */
async function toOpen(
  file: FoundArchive,
  statement: ArchiveStatement,
  { blocks, indexes }: Caches,
): Promise<OpenArchive> {
  const reader = await file.readContent()
  const policies = await reader.readPolicies()
  const toKey = ({ at }: Place) => `${statement.digest} ${at}`
  const open = (place: BlockPlace) => blocks(toKey(place), () => openBlock(reader, place, policies))
  const findSequences = async (block: BlockPlace, index: Place, texts: readonly string[]) => {
    const bytes = await indexes(toKey(index), () => reader.readBytes(toContent(index)))
    const read = async ({ at, length }: Place) => bytes.subarray(at, at + length)
    const found: number[] = []
    for (const text of texts)
      found.push(...(await findInIndex(read, { at: 0, length: bytes.length }, text, block.first)))
    return found
  }
  return {
    file,
    reader,
    statement,
    open,
    find: async (block, column, texts) => {
      await nextTurn()
      if (column === 'consent_reference') {
        if (!(await hasText(reader, block, texts))) return []
        const rows = await (await open(block)).rows(block.first, block.last)
        return rows.filter((row) => texts.includes(row[column] ?? ''))
      }
      const index = column === 'subject' ? block.subjects : block.references
      const sequences = new Set(await findSequences(block, index, texts))
      const rows: LoggedRow[] = []
      for (const at of [...sequences].sort((one, other) => one - other))
        rows.push(...(await (await open(block)).rows(at, at)))
      return rows.filter((row) => texts.includes(row[column] ?? ''))
    },
  }
}

/** There is no index of consents in an archive: the text of the block is searched, as it was written. */
async function hasText(reader: ArchiveReader, block: BlockPlace, texts: readonly string[]): Promise<boolean> {
  const content = await reader.readText(block)
  return texts.some((text) => content.includes(JSON.stringify(text)))
}

type Cache<T> = (key: string, read: () => Promise<T>) => Promise<T>

/** Keeps the last ones that were used. */
function createCache<T>(most: number): Cache<T> {
  const known = new Map<string, Promise<T>>()
  return (key, read) => {
    const value = known.get(key) ?? read()
    known.delete(key)
    known.set(key, value)
    value.catch(() => known.delete(key))
    const [oldest] = known.keys()
    if (known.size > most && oldest !== undefined) known.delete(oldest)
    return value
  }
}

/** A block of rows in memory: as text, which is several times smaller than objects. */
type OpenBlock = {
  readonly timeOf: (sequence: number) => string
  /** The rows from one sequence to another, as far as they are in the block. */
  readonly rows: (from: number, to: number) => Promise<LoggedRow[]>
  /** The hashes of all rows, in hex. */
  readonly hashes: () => Promise<readonly string[]>
}

type Cells = readonly unknown[]

/** Requests must not wait for a whole block. */
const ROWS_AT_ONCE = 250
const TIME_AT = ARCHIVE_COLUMNS.indexOf('time')
const FORMAT_AT = ARCHIVE_COLUMNS.indexOf('format')

async function openBlock(
  reader: ArchiveReader,
  place: BlockPlace,
  policies: ReadonlyMap<string, string>,
): Promise<OpenBlock> {
  const [first = '', ...lines] = toLines(await reader.readText(place))
  const header = JSON.parse(first) as BlockHeader
  if (lines.length !== place.last - place.first + 1) throw new UnreadableArchive(reader.path)
  const cellsOf = (sequence: number) => JSON.parse(lines[sequence - place.first] ?? '') as Cells
  let hashing: Promise<readonly string[]> | undefined
  const hashes = () => {
    hashing ??= hashLines(header, lines)
    return hashing
  }
  return {
    hashes,
    timeOf: (sequence) => String(cellsOf(sequence)[TIME_AT]),
    rows: async (from, to) => {
      const known = await hashes()
      const rows: LoggedRow[] = []
      for (let at = Math.max(from, place.first); at <= Math.min(to, place.last); at++) {
        const index = at - place.first
        const [previous, hash] = [known[index - 1] ?? header.previous_hash, known[index] ?? '']
        rows.push(toRow(cellsOf(at), { chain: place.chain, sequence: at, previous, hash }, policies))
        if (rows.length % ROWS_AT_ONCE === 0) await nextTurn()
      }
      return rows
    },
  }
}

/** An archive holds only the first and the last hash of a block. */
async function hashLines(header: BlockHeader, lines: readonly string[]): Promise<readonly string[]> {
  const hashRow = createRowHasher()
  const hashes: string[] = []
  let last = header.previous_hash
  for (const [index, line] of lines.entries()) {
    const cells = JSON.parse(line) as Cells
    const fields = [header.chain, header.first + index, ...cells.slice(0, HASHED_FIELDS.length - 2)]
    last = hashRow(fields, last, cells[FORMAT_AT]) ?? ''
    hashes.push(last)
    if (index % ROWS_AT_ONCE === 0) await nextTurn()
  }
  return hashes
}

type Position = {
  readonly chain: string
  readonly sequence: number
  readonly previous: string
  readonly hash: string
}

function toRow(
  cells: Cells,
  { chain, sequence, previous, hash }: Position,
  policies: ReadonlyMap<string, string>,
): LoggedRow {
  const fields = Object.fromEntries(ARCHIVE_COLUMNS.map((column, at) => [column, cells[at]])) as Omit<
    LoggedRow,
    'chain' | 'sequence' | 'previous_hash' | 'hash' | 'released'
  >
  const hashes = { previous_hash: Buffer.from(previous, 'hex'), hash: Buffer.from(hash, 'hex') }
  const released = policies.get(String(fields.fields_released))
  return { chain, sequence, ...fields, ...hashes, released: released ?? null }
}
