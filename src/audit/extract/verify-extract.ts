import { createHash, type KeyObject } from 'node:crypto'
import { DEMO_NOTICE } from '../../contract/demo.ts'
import { readPurpose } from '../../contract/free-text.ts'
import { isCount, isHash, isSigned, openCheckpoint, type SignedHead } from '../open-checkpoint.ts'
import { climbSides } from '../verify/merkle-tree.ts'
import { createRowHasher, HASHED_FIELDS, type RowHasher, toReference } from '../verify/row-hasher.ts'
import {
  END_KIND,
  EXTRACT_KIND,
  type ExtractAbout,
  type ExtractStatement,
  parseCsvLine,
  readCsvHeader,
  toCsvLine,
  toJsonLine,
} from './extract-format.ts'

export type ExtractResult =
  | {
      readonly sound: true
      readonly about: Pick<ExtractAbout, 'made_at' | 'view' | 'filter' | 'archives' | 'demonstration'>
      readonly rows: number
      /** Rows that no checkpoint covers: only the signature of the file covers them. */
      readonly unproved: number
      readonly checkpoints: number
    }
  /** `line` is the first faulty line of the file, if it is one. */
  | { readonly sound: false; readonly reason: string; readonly line: number | null }

/** A fault, to be read after "the extract is not good:". */
class ExtractFault extends Error {}

type State = {
  readonly publicKey: KeyObject
  readonly hashRow: RowHasher
  about: ExtractAbout | undefined
  /** Of a CSV file. */
  columns: readonly string[] | undefined
  readonly checkpoints: (readonly SignedHead[])[]
  rows: number
  unproved: number
  end: ExtractStatement | undefined
}

type Fields = Readonly<Record<string, unknown>>

/** Checks an extract with nothing but its bytes and the public key of the log. */
export async function verifyExtract(
  pieces: AsyncIterable<Uint8Array>,
  publicKey: KeyObject,
): Promise<ExtractResult> {
  const state: State = {
    publicKey,
    hashRow: createRowHasher(),
    about: undefined,
    columns: undefined,
    checkpoints: [],
    rows: 0,
    unproved: 0,
    end: undefined,
  }
  const digest = createHash('sha256')
  let line = 0
  try {
    for await (const each of readExtract(pieces)) {
      line += 1
      takeLine(state, each)
      if (!state.end) digest.update(each.bytes)
    }
  } catch (error) {
    if (!(error instanceof ExtractFault)) throw error
    return { sound: false, reason: error.message, line }
  }
  const reason = findWholeFault(state, digest.digest('hex'))
  if (reason !== undefined || !state.about) return { sound: false, reason: reason ?? NO_EXTRACT, line: null }
  const { made_at, view, filter, archives, demonstration } = state.about
  const { rows, unproved, checkpoints } = state
  return {
    sound: true,
    about: { made_at, view, filter, archives, ...(demonstration && { demonstration }) },
    rows,
    unproved,
    checkpoints: checkpoints.length,
  }
}

/** What a good extract holds, and what the check does not show. */
export function listExtractFacts(result: Extract<ExtractResult, { sound: true }>): string[] {
  const { about, rows, unproved, checkpoints } = result
  const filter = Object.entries(about.filter).map(([name, value]) => `${name} = ${value}`)
  return [
    ...(about.demonstration ? [DEMO_NOTICE] : []),
    `Made at ${about.made_at}: ${about.view === 'rows' ? 'rows' : 'all rows of the verifications'} that fit the filter.`,
    `Filter: ${filter.join(', ') || 'none'}.`,
    rows === 0
      ? 'Rows: 0. Nothing that was read fits the filter.'
      : `Rows: ${rows}. Proved by ${checkpoints} signed checkpoints: ${rows - unproved}.`,
    ...(unproved > 0
      ? [`Covered by the signature of the file only: ${unproved}. No checkpoint covers them.`]
      : []),
    toCompleteness(about.archives),
  ]
}

/** The owner of the key never signed that these were all rows if archives were left out. */
function toCompleteness(archives: number): string {
  if (archives === 0)
    return 'Not shown by this check: that the log had no other rows that fit. The owner of the key has signed that these were all.'
  const left = archives === 1 ? '1 archive of the log was' : `${archives} archives of the log were`
  return `NOT COMPLETE: ${left} not read, and may have more rows that fit. Export again with them.`
}

const NO_EXTRACT = 'this is not a file that tabbat audit export wrote with a filter or --format'

/** What only the whole file shows. */
function findWholeFault({ about, end, rows, unproved }: State, sha256: string): string | undefined {
  if (!about) return NO_EXTRACT
  if (!end) return 'the end is missing: the file is incomplete, or was cut off'
  if (end.sha256 !== sha256 || end.rows !== rows || end.unproved !== unproved)
    return 'it is not the file that was signed: a row was removed, added or moved, or other content was changed'
  return undefined
}

function takeLine(state: State, { bytes, record, columns }: ExtractLine): void {
  state.columns ??= columns
  if (state.end) throw new ExtractFault('something follows the end of the extract')
  const isFirst = state.about === undefined
  if (!record) throw new ExtractFault(isFirst ? NO_EXTRACT : 'the line is not a record of an extract')
  const { record: kind } = record
  // The names of the columns in a CSV file.
  if (kind === undefined && isFirst) return
  if ((kind === 'extract') !== isFirst) throw new ExtractFault(NO_EXTRACT)
  if (kind === 'extract') state.about = readAbout(record)
  else if (kind === 'checkpoint') state.checkpoints.push(readCheckpoint(state, record))
  else if (kind === 'row') takeRow(state, record)
  else if (kind === 'end') state.end = readEnd(state, record, bytes)
  else throw new ExtractFault('the line is not a record of an extract')
}

function parseBody<T extends { kind: string; version: number }>(body: unknown, kind: string): T | undefined {
  try {
    const value = JSON.parse(String(body)) as T
    return value.kind === kind && value.version === 1 ? value : undefined
  } catch {
    return undefined
  }
}

function readAbout({ body }: Fields): ExtractAbout {
  const about = parseBody<ExtractAbout>(body, EXTRACT_KIND)
  if (about && typeof about.made_at === 'string' && about.filter !== null && typeof about.filter === 'object')
    return about
  throw new ExtractFault(NO_EXTRACT)
}

function readCheckpoint({ checkpoints, publicKey }: State, record: Fields): readonly SignedHead[] {
  const { time, body, signature, checkpoint } = record
  if (checkpoint !== checkpoints.length + 1) throw new ExtractFault('a checkpoint is missing or was moved')
  const opened = openCheckpoint({ time, body, signature }, publicKey)
  if ('wrong' in opened) throw new ExtractFault(`the checkpoint ${opened.wrong}`)
  return opened.heads
}

function readEnd(
  { publicKey, columns }: State,
  { body, signature }: Fields,
  bytes: Buffer,
): ExtractStatement {
  if (typeof body !== 'string' || !isSigned(body, signature, publicKey))
    throw new ExtractFault(
      'the end has no valid signature: it was changed, forged, or signed with another key',
    )
  const statement = parseBody<ExtractStatement>(body, END_KIND)
  const end = { record: 'end', body, signature: String(signature) } as const
  // No byte can be changed: the end is the only line that the signed hash does not cover.
  if (!statement || bytes.toString() !== (columns ? toCsvLine(end, columns) : toJsonLine(end)))
    throw new ExtractFault('the end is not written as Tabbat writes it')
  return statement
}

function takeRow(state: State, row: Fields): void {
  state.rows += 1
  const { previous_hash, hash, format, fields_released, checkpoint } = row
  const released = row.released ?? null
  if (!isHash(previous_hash) || !isHash(hash)) throw new ExtractFault('the row has no hash')
  const fields = HASHED_FIELDS.map((name) => row[name] ?? null)
  if (state.hashRow(fields, previous_hash, format) !== hash)
    throw new ExtractFault('the hash of the row does not match its content: the row was changed')
  const reference = released === null ? released : toReference(String(released))
  if (fields_released !== reference)
    throw new ExtractFault('the released fields are not those that the row refers to')
  if (row.purpose !== undefined && row.purpose !== (readPurpose(row.detail as string | null) ?? null))
    throw new ExtractFault('the purpose is not the one that the row has in its detail')
  if (checkpoint === null) state.unproved += 1
  else checkPath(state, row, hash)
}

function checkPath({ checkpoints }: State, row: Fields, hash: string): void {
  const { checkpoint, chain, sequence, path } = row
  const heads = isCount(checkpoint) ? checkpoints[checkpoint - 1] : undefined
  const head = heads?.find((each) => each.chain === chain)
  if (!head || !isCount(sequence) || sequence <= head.from || sequence > head.sequence)
    throw new ExtractFault('the checkpoint does not cover this row')
  const hashes = path === '' ? [] : String(path).split(' ')
  const count = head.sequence - head.from
  if (!hashes.every(isHash) || climbSides(hash, sequence - head.from - 1, count, hashes) !== head.root)
    throw new ExtractFault('the path does not lead from the row to the signed root')
}

/** A line of an extract: its bytes, and the record in it; undefined if it is none. */
type ExtractLine = {
  readonly bytes: Buffer
  /** Of a CSV file, with its header. */
  readonly columns?: readonly string[] | undefined
  readonly record: Readonly<Record<string, unknown>> | undefined
}

/** The longest line has a checkpoint of many chains. */
const MAX_BYTES = 16 * 1024 * 1024
const LINE_FEED = 0x0a
const QUOTE = 0x22
const BRACE = 0x7b

/** The lines of a file. The header of a CSV file is a line with an empty record. */
async function* readExtract(pieces: AsyncIterable<Uint8Array>): AsyncIterable<ExtractLine> {
  let parse: ((line: string) => ExtractLine['record']) | undefined
  for await (const bytes of splitLines(pieces)) {
    const text = toText(bytes)
    const columns = parse === undefined ? readCsvHeader(text) : undefined
    parse ??= columns ? (line) => parseCsvLine(line, columns) : parseJsonLine
    if (columns) yield { bytes, record: {}, columns }
    else yield { bytes, record: text === undefined ? undefined : parse(text) }
  }
}

/** Undefined if it is not UTF-8. */
function toText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function parseJsonLine(line: string): ExtractLine['record'] {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null ? (value as ExtractLine['record']) : undefined
  } catch {
    return undefined
  }
}

const beginsJson = ([first]: Uint8Array) => (first === undefined ? undefined : first === BRACE)

/** In CSV, a line feed between quotes does not end a line. In JSON there is none: it is escaped. */
async function* splitLines(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  // Joined once a line: joining with each piece would take the square of the time.
  let held: Uint8Array[] = []
  let bytes = 0
  let isJson: boolean | undefined
  let isQuoted = false
  for await (const piece of pieces) {
    isJson ??= beginsJson(piece)
    let start = 0
    for (let at = 0; at < piece.length; at++) {
      if (piece[at] === QUOTE && !isJson) isQuoted = !isQuoted
      if (piece[at] !== LINE_FEED || isQuoted) continue
      yield Buffer.concat([...held, piece.subarray(start, at + 1)])
      held = []
      bytes = 0
      start = at + 1
    }
    held.push(piece.subarray(start))
    bytes += piece.length - start
    if (bytes > MAX_BYTES) break
  }
  if (bytes > 0) yield Buffer.concat(held)
}
