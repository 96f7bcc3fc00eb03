import { isUtf8 } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Kind } from '../../crypto/mac.ts'
import { SEAL_BYTES } from '../../crypto/seal.ts'
import { createEntryWriter, sealEntry, sealMedia } from '../sealed-entry.ts'
import { type CleanRow, createRowCleaner } from './clean-row.ts'
import { type Column, toGivenRow } from './csv.ts'
import { createFlatReader } from './flat-reader.ts'
import { BadRow } from './record-fields.ts'
import { type Format, MAX_ROW_BYTES, readRow, TOO_LONG } from './rows.ts'
import { createRowPacker, type RowPacker, type SealedRow } from './sealed-rows.ts'

/** A rejected row and the reason. */
export type Reject = { readonly line: number; readonly reason: string; readonly row: string }

/** The sealed rows of a chunk in one buffer, and those that were rejected. */
export type PackedChunk = {
  readonly packed: Uint8Array<ArrayBuffer>
  readonly count: number
  readonly rejects: readonly Reject[]
  readonly lines: number
}

export type SealerOptions = {
  readonly kind: Kind
  readonly format: Format
  readonly columns: readonly Column[]
  /** Whether to stop at the first rejected row. */
  readonly strict: boolean
}

const BLANK_LINE = /^\s*$/

/** Reads, checks and seals the rows of a chunk. Lines are counted from 0. */
export function createChunkSealer(
  keyring: Keyring,
  { kind, format, columns, strict }: SealerOptions,
): (chunk: Buffer) => PackedChunk {
  const clean = createRowCleaner(kind)
  const parse = format === 'csv' ? (text: string) => toGivenRow(columns, text) : parseJson
  const flat = createFlatReader(kind, format, columns)
  let canLearn = true
  const writeEntry = createEntryWriter(keyring, kind)
  const readUsual = (chunk: Buffer, start: number, packer: RowPacker): number => {
    const row = flat.read(chunk, start)
    if (!row) return -1
    const { number, content, end } = row
    packer.addWritten(content.length + SEAL_BYTES, (target, at) => writeEntry(target, at, number, content))
    return end
  }
  const check = (bytes: Buffer, text: string): SealedRow => {
    if (bytes.length > MAX_ROW_BYTES) throw new BadRow(TOO_LONG)
    if (!isUtf8(bytes)) throw new BadRow('the row is not UTF-8')
    const row = clean(parse(text))
    if (canLearn) flat.learn(text)
    canLearn = false
    return sealRow(keyring, kind, row)
  }
  const readCarefully = (chunk: Buffer, start: number): ReadRow => {
    const { bytes, end, lines } = readRow(format, chunk, start)
    const text = bytes.toString()
    if (BLANK_LINE.test(text)) return { end, lines, result: undefined }
    const result = orReason(() => check(bytes, text))
    return { end, lines, result, text: result === TOO_LONG ? '' : text }
  }
  return (chunk) => {
    canLearn = true
    const packer = createRowPacker(chunk.length)
    const usual = isUtf8(chunk) ? (start: number) => readUsual(chunk, start, packer) : () => -1
    const careful = (start: number) => readCarefully(chunk, start)
    const read = readRows(chunk.length, strict, packer, usual, careful)
    return { ...packer.take(), ...read }
  }
}

/** `usual` reads and packs a row, and returns where the next one begins; -1 for a row that is left to `careful`. */
function readRows(
  length: number,
  strict: boolean,
  packer: RowPacker,
  usual: (start: number) => number,
  careful: (start: number) => ReadRow,
): Pick<PackedChunk, 'rejects' | 'lines'> {
  const rejects: Reject[] = []
  let line = 0
  let start = 0
  while (start < length && !(strict && rejects.length > 0)) {
    const next = usual(start)
    if (next !== -1) {
      start = next
      line++
      continue
    }
    const { end, lines, result, text = '' } = careful(start)
    if (typeof result === 'string') rejects.push({ line, reason: result, row: text })
    else if (result) packer.add(result)
    start = end
    line += lines
  }
  return { rejects, lines: line }
}

/** A row that was read: sealed, or the reason to reject it; undefined for a blank line. */
type ReadRow = {
  readonly end: number
  readonly lines: number
  readonly result: SealedRow | string | undefined
  readonly text?: string
}

function orReason<T>(work: () => T): T | string {
  try {
    return work()
  } catch (error) {
    if (error instanceof BadRow) return error.message
    throw error
  }
}

/** The message of the parser would quote the row. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BadRow('the row is not JSON')
  }
}

function sealRow(keyring: Keyring, kind: Kind, { number, record, picture }: CleanRow): SealedRow {
  if (!picture)
    return { record: sealEntry(keyring, kind, number, { record, mediaId: null }), media: undefined }
  const id = randomBytes(16)
  const digest = createHash('sha256').update(picture).digest('hex')
  const sealed = sealEntry(keyring, kind, number, { record, mediaId: id.toString('hex') }, digest)
  return { record: sealed, media: sealMedia(keyring, id, sealed.subject, picture) }
}
