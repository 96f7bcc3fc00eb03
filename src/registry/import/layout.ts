import { isUtf8 } from 'node:buffer'
import type { Kind } from '../../crypto/blind-index.ts'
import { UserError } from '../../errors.ts'
import { BadRow } from './bad-row.ts'
import { type Column, readHeader } from './csv.ts'
import type { Input } from './input.ts'
import type { Progress } from './progress.ts'
import { type Format, splitRows } from './rows.ts'

/** The columns of a file, and where its rows begin. */
type Layout = { readonly columns: readonly Column[]; readonly start: Progress }

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')
const NOTHING_DONE = { records: 0, changed: 0, rejected: 0, rejectedBytes: 0 }

export function readLayout(kind: Kind, format: Format, { head, name }: Input): Layout {
  const mark = head.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
  if (format === 'ndjson') return { columns: [], start: { ...NOTHING_DONE, offset: mark, line: 1 } }
  const rows = splitRows(format, head.subarray(mark))
  for (const { bytes, end, line, lines } of rows) {
    if (bytes.length === 0) continue
    const columns = readColumns(kind, bytes, name)
    return { columns, start: { ...NOTHING_DONE, offset: mark + end, line: 1 + line + lines } }
  }
  throw new UserError(`${name} is empty.`)
}

function readColumns(kind: Kind, header: Buffer, name: string): Column[] {
  if (!isUtf8(header)) throw new UserError(`The header of ${name} is not UTF-8.`)
  try {
    return readHeader(kind, header.toString(), name)
  } catch (error) {
    if (error instanceof BadRow)
      throw new UserError(`The header of ${name} cannot be read: ${error.message}.`)
    throw error
  }
}
