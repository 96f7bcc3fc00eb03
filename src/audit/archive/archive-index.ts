import { findInPage, type SubjectOfRow, toBucket, toKeys, toPages } from '../subject-blocks.ts'
import type { Place } from './archive-format.ts'

/**
 * The rows of a block by a text of theirs: a subject or a request_reference. First the ends of 256 buckets, as unsigned 32-bit
 * integers, then their entries: see subject-blocks.ts.
 */
const BUCKETS = 256
const ENDS_BYTES = BUCKETS * 4

export function toIndex(rows: readonly SubjectOfRow[], first: number): Buffer {
  const pages = new Map(toPages(toKeys(rows, first)))
  const ends = Buffer.alloc(ENDS_BYTES)
  const parts: Uint8Array[] = [ends]
  let end = 0
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const page = pages.get(bucket)
    if (page) parts.push(page)
    end += page?.length ?? 0
    ends.writeUInt32BE(end, bucket * 4)
  }
  return Buffer.concat(parts)
}

type ReadBytes = (place: Place) => Promise<Buffer>

/** The sequences of the rows that may have this text. Reads one bucket. */
export async function findInIndex(
  read: ReadBytes,
  index: Place,
  text: string,
  first: number,
): Promise<number[]> {
  const bucket = toBucket(text)
  const before = Math.max(bucket - 1, 0)
  const ends = await read({ at: index.at + before * 4, length: (bucket - before + 1) * 4 })
  const from = bucket === 0 ? 0 : ends.readUInt32BE(0)
  const to = ends.readUInt32BE(ends.length - 4)
  if (to <= from) return []
  const page = await read({ at: index.at + ENDS_BYTES + from, length: to - from })
  return findInPage(page, text, first)
}
