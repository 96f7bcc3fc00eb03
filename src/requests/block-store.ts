import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import type { BlockId, RequestTable } from '../store/request-table.ts'
import { BLOCK_BYTES, type PlainBlock } from './block-writer.ts'
import { parseCounts, toCountLine, toHourStart, toKindText } from './line.ts'

/** Writes the blocks of one process. */
type BlockStore = { readonly write: (block: PlainBlock) => Promise<void> }

/** So many small blocks become one, so that few requests do not make many blocks. */
const MOST_PARTS = 64

export function createBlockStore(table: Pick<RequestTable, 'append'>): BlockStore {
  /** The last small blocks in the database. */
  let parts: PlainBlock[] = []
  return {
    write: async (block) => {
      const joined = [...parts, block]
      const isSameHour = parts.every(({ fromAt }) => toHourStart(fromAt) === toHourStart(block.fromAt))
      const bytes = joined.reduce((sum, { lines }) => sum + lines.length, 0)
      if (!isSameHour || bytes > BLOCK_BYTES) {
        await append(table, block, [])
        parts = block.lines.length < BLOCK_BYTES / 2 ? [block] : []
      } else if (joined.length < MOST_PARTS && bytes < BLOCK_BYTES / 2) {
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
  block: PlainBlock,
  replaced: readonly BlockId[],
): Promise<void> => {
  const lines = await compress(block.lines)
  await table.append(
    [{ ...block, lines }],
    replaced.map(({ owner, first }) => ({ owner, first })),
  )
}

function joinBlocks(blocks: readonly PlainBlock[]): PlainBlock {
  const counts = new Map<string, number>()
  for (const { count, ...kind } of blocks.flatMap((block) => parseCounts(block.counts)))
    counts.set(toKindText(kind), (counts.get(toKindText(kind)) ?? 0) + count)
  return {
    ...(blocks[0] as PlainBlock),
    fromAt: Math.min(...blocks.map(({ fromAt }) => fromAt)),
    toAt: Math.max(...blocks.map(({ toAt }) => toAt)),
    requests: blocks.reduce((sum, { requests }) => sum + requests, 0),
    counts: [...counts].map(([text, count]) => toCountLine(text, count)).join(''),
    lines: Buffer.concat(blocks.map(({ lines }) => lines)),
  }
}

const zip = promisify(zstdCompress)
const unzip = promisify(zstdDecompress)

/** Fast rather than small. In a thread of Node.js: the event loop does not wait. */
const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** A shorter text gains nothing. */
const LEAST_COMPRESSED = 200
const ZSTD_MAGIC = 0xfd2fb528

/** Copied: what is sent to the writer thread takes its whole buffer along. */
const compress = async (lines: Buffer): Promise<Uint8Array> =>
  new Uint8Array(lines.length < LEAST_COMPRESSED ? lines : await zip(lines, OPTIONS))

/** The lines of a block as text. */
export async function decompress(stored: Uint8Array): Promise<string> {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
  const isCompressed = bytes.length >= 4 && bytes.readUInt32LE(0) === ZSTD_MAGIC
  return (isCompressed ? await unzip(bytes, { maxOutputLength: 2 * BLOCK_BYTES }) : bytes).toString('latin1')
}
