import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedRow } from '../../ledger/audit-row.ts'
import { createRowHasher, HASHED_FIELDS } from '../verify-row.ts'
import { ARCHIVE_COLUMNS, type BlockHeader, type BlockPlace, toLines } from './archive-format.ts'
import { type ArchiveReader, UnreadableArchive } from './read-archive.ts'

/** A block of rows in memory: as text, which is several times smaller than objects. */
export type OpenBlock = {
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

export async function openBlock(
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
  const released = fields.format === 1 ? fields.fields_released : policies.get(String(fields.fields_released))
  return { chain, sequence, ...fields, ...hashes, released: released ?? null }
}
