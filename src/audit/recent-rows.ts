import type { AuditRow } from '../ledger/audit-row.ts'
import { BLOCK_ROWS, KEY_BYTES, type RowKeys, writeKey } from './subject-blocks.ts'
import { type BlockIndex, CONSENT_INDEX, SUBJECT_INDEX } from './subject-table.ts'

/**
 * What the blocks of the index and the checkpoints need to know of the rows that this process wrote last, so that they are not
 * read again. Holds consecutive rows of one chain, all of them committed.
 */
export type RecentRows = {
  /** Adds rows after their commit. Those of another chain, or after a gap, replace the ones before. */
  readonly add: (rows: readonly AuditRow[]) => void
  /** After a failure it is unknown what the database holds. */
  readonly forget: () => void
  /** The chain that this process extends and its last row; undefined before the first row, and after `forget`. */
  readonly end: () => ChainPosition | undefined
  /** The keys of the rows after `after`, up to `upTo`; undefined if not all of them are held. */
  readonly copyKeys: (index: BlockIndex, chain: string, after: number, upTo: number) => RowKeys | undefined
  /** Their hashes, one after another. */
  readonly copyHashes: (chain: string, after: number, upTo: number) => Uint8Array | undefined
  /** Calls the listener whenever there are rows for another block. */
  readonly onBlock: (listener: () => void) => void
}

type ChainPosition = { readonly chain: string; readonly sequence: number }

/** Blocks that are held. A block must be written while the rows of the others arrive; else its rows are read. */
const BLOCKS = 4
const HASH_BYTES = 32

export function createRecentRows(blockRows = BLOCK_ROWS): RecentRows {
  const most = BLOCKS * blockRows
  // Memory that is not used yet costs nothing.
  const keys = [SUBJECT_INDEX, CONSENT_INDEX].map((index) => ({ index, ring: createRing(KEY_BYTES, most) }))
  const hashes = createRing(HASH_BYTES, most)
  let chain: string | undefined
  let first = 0
  let last = 0
  let rowsSinceBlock = 0
  let onBlock = () => {}

  const write = (row: AuditRow) => {
    hashes.bytes.set(row.hash, hashes.placeOf(row.sequence))
    for (const { index, ring } of keys) {
      const text = row[index.column]
      writeKey(ring.bytes, ring.placeOf(row.sequence), text === null ? null : index.prefix + text)
    }
  }
  const holds = (asked: string, after: number, upTo: number) =>
    asked === chain && after >= first - 1 && upTo <= last
  return {
    add: (rows) => {
      const [begin] = rows
      if (!begin) return
      if (begin.chain !== chain || begin.sequence !== last + 1) {
        chain = begin.chain
        first = begin.sequence
      }
      for (const row of rows) write(row)
      last = begin.sequence + rows.length - 1
      first = Math.max(first, last - most + 1)
      rowsSinceBlock += rows.length
      if (rowsSinceBlock < blockRows) return
      rowsSinceBlock %= blockRows
      onBlock()
    },
    forget: () => {
      chain = undefined
    },
    end: () => (chain === undefined ? undefined : { chain, sequence: last }),
    copyKeys: ({ column }, asked, after, upTo) =>
      holds(asked, after, upTo)
        ? keys.find(({ index }) => index.column === column)?.ring.copy(after, upTo)
        : undefined,
    copyHashes: (asked, after, upTo) => (holds(asked, after, upTo) ? hashes.copy(after, upTo) : undefined),
    onBlock: (listener) => {
      onBlock = listener
    },
  }
}

/** A row is at the remainder of its sequence. */
function createRing(rowBytes: number, most: number) {
  const bytes = new Uint8Array(most * rowBytes)
  const placeOf = (sequence: number) => (sequence % most) * rowBytes
  const copy = (after: number, upTo: number): Uint8Array => {
    const copied = new Uint8Array((upTo - after) * rowBytes)
    const from = placeOf(after + 1)
    const head = bytes.subarray(from, from + copied.length)
    copied.set(head)
    copied.set(bytes.subarray(0, copied.length - head.length), head.length)
    return copied
  }
  return { bytes, placeOf, copy }
}
