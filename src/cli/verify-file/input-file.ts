import { createHmac } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { extname } from 'node:path'
import { createCheckRow } from '../../batches/batch-row.ts'
import type { InputRow } from '../../batches/read-rows.ts'
import { type BatchFormat, MAX_ROWS, openRows, ROW_FIELDS } from '../../batches/read-rows.ts'
import { SCOPES } from '../../contract/scope.ts'
import type { Kind } from '../../crypto/mac.ts'
import { AppError, UserError } from '../../errors.ts'

/** Rows that are sent in one batch. */
export type Part = {
  readonly firstLine: number
  readonly lastLine: number
  readonly rows: number
  /** Rows that can be read and are sent. */
  readonly readable: number
}

/** What a first pass over the file found. */
export type CheckedFile = {
  readonly parts: readonly Part[]
  readonly rows: number
  /** Rows that are well formed. */
  readonly good: number
  /** The first refusals, for the screen. */
  readonly refusals: readonly { readonly line: number; readonly message: string }[]
  /** Keyed hash of the content: the state file must not tell what the file holds. */
  readonly digest: string
}

/** Below the limits of a batch. So few bytes arrive within the 15 s of a request on a slow line, too. */
const MAX_PART_BYTES = 2 * 1024 * 1024
const MAX_SHOWN = 5

const FORMATS: Readonly<Record<string, BatchFormat>> = {
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
}

export function toBatchFormat(file: string): BatchFormat {
  const format = FORMATS[extname(file).toLowerCase()]
  if (!format) throw new UserError(`The format of ${file} is not known by its name. Give --format.`)
  return format
}

/** The columns of a file about one kind of number. */
const toColumns = (kind: Kind) =>
  ROW_FIELDS.filter((name) => name === kind || !['operation', 'nin', 'bvn'].includes(name))

/** A row as the API takes it. */
export const toApiRow = (kind: Kind, fields: Fields): Fields => ({
  operation: `verify_${kind}`,
  ...Object.fromEntries(
    toColumns(kind).flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name]]] : [])),
  ),
})

type Fields = Readonly<Record<string, unknown>>

/** Reads the rows of a file, with problems of the whole file as a sentence for the operator. */
export async function* readFileRows(
  file: string,
  kind: Kind,
  format: BatchFormat,
  onPiece: (piece: Buffer) => void = () => {},
): AsyncGenerator<InputRow> {
  try {
    yield* openRows(format, readPieces(file, onPiece), toColumns(kind))
  } catch (error) {
    throw fileError(file, error)
  }
}

async function* readPieces(file: string, onPiece: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  if (statSync(file).isDirectory()) throw new UserError(`${file} is a folder. Give a file.`)
  for await (const piece of createReadStream(file)) {
    onPiece(piece as Buffer)
    yield piece as Buffer
  }
}

function fileError(file: string, error: unknown): unknown {
  if (error instanceof AppError)
    return new UserError(
      `${file}: ${Object.values(error.errors ?? {}).flat()[0] ?? 'this is not valid JSON'}.`,
    )
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return new UserError(`There is no file ${file}.`)
  return syscall === undefined ? error : new UserError(`${file} cannot be read (${code}).`)
}

/** Reads the whole file once: counts, checks, and divides it into parts. */
export async function checkFile(
  file: string,
  kind: Kind,
  format: BatchFormat,
  key: string,
): Promise<CheckedFile> {
  const hash = createHmac('sha256', key).update(`${kind} ${format}\n`)
  const check = createCheckRow(new Set(SCOPES))
  const parts = createParts()
  const refusals: { line: number; message: string }[] = []
  let rows = 0
  let good = 0
  for await (const row of readFileRows(file, kind, format, (piece) => void hash.update(piece))) {
    const fields = 'fields' in row ? toApiRow(kind, row.fields) : undefined
    const checked = check(fields ? { line: row.line, fields } : row)
    rows += 1
    if ('kind' in checked) good += 1
    else if (refusals.length < MAX_SHOWN)
      refusals.push(...checked.refusals.slice(0, 1).map(({ message }) => ({ line: row.line, message })))
    parts.add(row.line, fields ? Buffer.byteLength(JSON.stringify(fields)) : undefined)
  }
  if (rows === 0) throw new UserError(`${file} has no rows.`)
  return { parts: parts.list(), rows, good, refusals, digest: hash.digest('hex') }
}

/** Divides rows into parts, each within the limits of a batch. `bytes` is undefined for a row that cannot be read. */
function createParts() {
  const parts: Part[] = []
  let size = 0
  return {
    list: () => parts,
    add: (line: number, bytes: number | undefined) => {
      const last = parts.at(-1)
      size += bytes ?? 0
      const isFull = !last || last.rows >= MAX_ROWS || size > MAX_PART_BYTES
      if (isFull) size = bytes ?? 0
      const part = isFull ? { firstLine: line, rows: 0, readable: 0 } : last
      const readable = part.readable + (bytes === undefined ? 0 : 1)
      parts.splice(isFull ? parts.length : -1, 1, { ...part, lastLine: line, rows: part.rows + 1, readable })
    },
  }
}
