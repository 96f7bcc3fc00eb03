import { isUtf8 } from 'node:buffer'
import { createHash, randomBytes } from 'node:crypto'
import type { Kind } from '../../crypto/blind-index.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { sealEntry, sealMedia, sealValues } from '../sealed-entry.ts'
import { BadRow } from './bad-row.ts'
import { type CleanRow, createRowCleaner } from './clean-row.ts'
import { type Column, toGivenRow } from './csv.ts'
import { createFlatReader } from './flat-reader.ts'
import { type Format, LONGEST_ROW, splitRows, TOO_LONG } from './rows.ts'
import type { SealedRow } from './sealed-rows.ts'

/** A rejected row and the reason. */
export type Reject = { readonly line: number; readonly reason: string; readonly row: string }

type SealedChunk = {
  readonly rows: readonly SealedRow[]
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
): (chunk: Buffer) => SealedChunk {
  const clean = createRowCleaner(kind)
  const parse = format === 'csv' ? (text: string) => toGivenRow(columns, text) : parseJson
  const flat = createFlatReader(kind, format, columns)
  let canLearn = true
  const read: ReadRow = (bytes, text, allUtf8) => {
    if (bytes.length > LONGEST_ROW) throw new BadRow(TOO_LONG)
    if (!allUtf8 && !isUtf8(bytes)) throw new BadRow('the row is not UTF-8')
    const usual = flat.read(text)
    if (usual) return { record: sealValues(keyring, kind, usual.number, usual.values), media: undefined }
    const row = clean(parse(text))
    if (canLearn) flat.learn(text)
    canLearn = false
    return sealRow(keyring, kind, row)
  }
  return (chunk) => {
    canLearn = true
    return sealRows(chunk, format, strict, read)
  }
}

type ReadRow = (bytes: Buffer, text: string, allUtf8: boolean) => SealedRow

function sealRows(chunk: Buffer, format: Format, strict: boolean, read: ReadRow): SealedChunk {
  const rows: SealedRow[] = []
  const rejects: Reject[] = []
  const allUtf8 = isUtf8(chunk)
  let lines = 0
  for (const { bytes, line, nextLine } of splitRows(format, chunk)) {
    lines = nextLine
    const text = bytes.toString()
    if (BLANK_LINE.test(text)) continue
    const result = orReason(() => read(bytes, text, allUtf8))
    if (typeof result !== 'string') rows.push(result)
    else rejects.push({ line, reason: result, row: result === TOO_LONG ? '' : text })
    if (strict && rejects.length > 0) break
  }
  return { rows, rejects, lines }
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
