import type { AuditRow } from '../store/audit-row.ts'
import { BLOCK_ROWS, KEY_BYTES, type RowKeys, writeKey } from '../store/subject-blocks.ts'
import { type BlockIndex, CONSENT_INDEX, SUBJECT_INDEX } from '../store/subject-table.ts'

/**
 * What the blocks of the index need to know of the rows that this process wrote last, so that they are not read again. Holds
 * consecutive rows of one chain, all of them committed.
 */
export type RecentRows = {
  /** Adds rows after their commit. Those of another chain, or after a gap, replace the ones before. */
  readonly add: (rows: readonly AuditRow[]) => void
  /** After a failure it is unknown what the database holds. */
  readonly forget: () => void
  /** The chain that this process extends and its last row; undefined before the first row, and after `forget`. */
  readonly end: () => ChainPosition | undefined
  /** The keys of the rows after `after`, up to `upTo`; undefined if not all of them are held. */
  readonly copy: (index: BlockIndex, chain: string, after: number, upTo: number) => RowKeys | undefined
  /** Calls the listener whenever there are rows for another block. */
  readonly onBlock: (listener: () => void) => void
}

type ChainPosition = { readonly chain: string; readonly sequence: number }

/** Blocks that are held. A block must be written while the rows of the others arrive; else its rows are read. */
const BLOCKS = 4

export function createRecentRows(blockRows = BLOCK_ROWS): RecentRows {
  const most = BLOCKS * blockRows
  // Memory that is not used yet costs nothing.
  const rings = [SUBJECT_INDEX, CONSENT_INDEX].map((index) => createRing(index, most))
  let chain: string | undefined
  let first = 0
  let last = 0
  let rowsSinceBlock = 0
  let onBlock = () => {}

  return {
    add: (rows) => {
      const [begin] = rows
      if (!begin) return
      if (begin.chain !== chain || begin.sequence !== last + 1) {
        chain = begin.chain
        first = begin.sequence
      }
      for (const ring of rings) for (const row of rows) ring.write(row)
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
    copy: (index, asked, after, upTo) =>
      asked === chain && after >= first - 1 && upTo <= last
        ? rings.find((ring) => ring.column === index.column)?.copy(after, upTo)
        : undefined,
    onBlock: (listener) => {
      onBlock = listener
    },
  }
}

/** The key of a row is at the remainder of its sequence. */
function createRing({ column, prefix }: BlockIndex, most: number) {
  const keys = new Uint8Array(most * KEY_BYTES)
  return {
    column,
    write: (row: AuditRow) => {
      const text = row[column]
      writeKey(keys, (row.sequence % most) * KEY_BYTES, text === null ? null : prefix + text)
    },
    copy: (after: number, upTo: number): RowKeys => {
      const copied = new Uint8Array((upTo - after) * KEY_BYTES)
      const from = ((after + 1) % most) * KEY_BYTES
      const head = keys.subarray(from, from + copied.length)
      copied.set(head)
      copied.set(keys.subarray(0, copied.length - head.length), head.length)
      return copied
    },
  }
}
