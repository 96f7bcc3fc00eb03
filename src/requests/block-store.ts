import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import {
  BLOCK_REQUESTS,
  type PlainBlock,
  parseCounts,
  toCountLine,
  toHourStart,
  toKindText,
} from './block-writer.ts'
import { type Columns, createColumns, decodeColumns, encodeColumns } from './columns.ts'
import type { BlockId, RequestTable } from './request-table.ts'

/** Writes the blocks of one process. */
type BlockStore = { readonly write: (block: PlainBlock) => Promise<void> }

/** So many small blocks become one, so that few requests do not make many blocks. */
const MAX_PARTS = 64
const SMALL = BLOCK_REQUESTS / 2

export function createBlockStore(table: Pick<RequestTable, 'append'>): BlockStore {
  /** The last small blocks in the database. */
  let parts: PlainBlock[] = []
  return {
    write: async (block) => {
      const joined = [...parts, block]
      const isSameHour = parts.every(({ fromAt }) => toHourStart(fromAt) === toHourStart(block.fromAt))
      const requests = joined.reduce((sum, each) => sum + each.requests, 0)
      if (!isSameHour || requests > BLOCK_REQUESTS) {
        await append(table, block, [])
        parts = block.requests < SMALL ? [block] : []
      } else if (joined.length < MAX_PARTS && requests < SMALL) {
        await append(table, block, [])
        parts = joined
      } else {
        await append(table, joinBlocks(joined), parts)
        parts = []
      }
    },
  }
}

const append = async (
  table: Pick<RequestTable, 'append'>,
  { columns, ...head }: PlainBlock,
  replaced: readonly BlockId[],
): Promise<void> => {
  const filter = createTextFilter([...columns.ids, ...columns.references.filter((text) => text !== '')])
  const lines = await compress(encodeColumns(columns))
  await table.append(
    [{ ...head, lines, filter }],
    replaced.map(({ owner, first }) => ({ owner, first })),
  )
}

/** In the order of their numbers. */
function joinBlocks(blocks: readonly PlainBlock[]): PlainBlock {
  const counts = new Map<string, number>()
  const columns: Columns = { ...createColumns(0), starts: [] }
  for (const block of blocks) {
    const texts = parseCounts(block.counts).map(({ count, ...kind }) => {
      const text = toKindText(kind)
      counts.set(text, (counts.get(text) ?? 0) + count)
      return text
    })
    addColumns(
      columns,
      block.columns,
      texts.map((text) => [...counts.keys()].indexOf(text)),
    )
  }
  return {
    ...(blocks[0] as PlainBlock),
    fromAt: Math.min(...blocks.map(({ fromAt }) => fromAt)),
    toAt: Math.max(...blocks.map(({ toAt }) => toAt)),
    requests: columns.ids.length,
    counts: [...counts].map(([text, count]) => toCountLine(text, count)).join(''),
    columns,
  }
}

/** `places` are those of the kinds among the kinds of all. */
function addColumns(all: Columns, added: Columns, places: readonly number[]): void {
  const offset = all.ids.length
  all.times.push(...added.times)
  all.micros.push(...added.micros)
  all.kinds.push(...added.kinds.map((place) => places[place] as number))
  all.ids.push(...added.ids)
  all.references.push(...added.references)
  for (const [place, names] of added.fields) all.fields.set(offset + place, names)
  all.starts.push(...added.starts.map(([place, number]) => [offset + place, number] as const))
}

const zip = promisify(zstdCompress)
const unzip = promisify(zstdDecompress)

/** Fast rather than small. In a thread of Node.js: the event loop does not wait. */
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** No block is larger: an id and a reference have 64 characters at most. */
const MAX_BYTES = 4 * 1024 * 1024

/** Copied: what is sent to the writer thread takes its whole buffer along. */
const compress = async (bytes: Buffer): Promise<Uint8Array> => new Uint8Array(await zip(bytes, OPTIONS))

/** The requests of a block that was read. Undefined if it does not contain all these texts, which is found out sooner. */
export async function decompress(
  stored: Uint8Array,
  requests: number,
  texts: readonly string[],
): Promise<Columns | undefined> {
  const bytes = await unzip(stored, { maxOutputLength: MAX_BYTES })
  return texts.every((text) => bytes.includes(text, 0, 'latin1')) ? decodeColumns(bytes, requests) : undefined
}

/**
 * Which texts a block may have (a Bloom filter): "no" is certain, "yes" is wrong for about one text in a hundred. So a search by id
 * passes over nearly all blocks without reading their lines.
 */

const BITS_PER_TEXT = 10
const PROBES = 6

export function createTextFilter(texts: readonly string[]): Uint8Array {
  const filter = new Uint8Array(Math.ceil((texts.length * BITS_PER_TEXT) / 8))
  const bits = filter.length * 8
  for (const text of texts) {
    const [start, step] = hash(text)
    for (let probe = 0; probe < PROBES; probe++) {
      const bit = ((start + probe * step) >>> 0) % bits
      filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7))
    }
  }
  return filter
}

export function mayHaveText(filter: Uint8Array, text: string): boolean {
  const bits = filter.length * 8
  if (bits === 0) return false
  const [start, step] = hash(text)
  for (let probe = 0; probe < PROBES; probe++) {
    const bit = ((start + probe * step) >>> 0) % bits
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false
  }
  return true
}

/** FNV-1a, and a second number from other constants. Ids that callers choose are stored as keyed hashes, so none is made to fit. */
function hash(text: string): readonly [start: number, step: number] {
  let [start, step] = [0x811c9dc5, 0x9747b28c]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    start = Math.imul(start ^ code, 0x01000193)
    step = Math.imul(step ^ code, 0x5bd1e995)
    step ^= step >>> 15
  }
  return [start >>> 0, (step | 1) >>> 0]
}
