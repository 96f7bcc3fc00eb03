import { toCsvLine } from '../contract/csv.ts'
import { DETAIL_FIELDS } from '../contract/person.ts'
import type { Kind } from '../crypto/mac.ts'
import { toFieldNames } from '../registry/import/record-fields.ts'
import type { Levels } from '../verification/match-details.ts'

const FIRST_COLUMNS = ['line', 'reference', 'operation', 'state', 'status', 'code', 'message'] as const
const MATCH_COLUMNS = DETAIL_FIELDS.map((field) => `match.${field}`)

/** Fields of the results, dotted, in the order of the contract. A field that NIN and BVN share is there once. */
const toDataColumns = (kinds: readonly Kind[]): string[] => [
  ...new Set(['request_reference', 'verification_status', ...kinds.flatMap(toFieldNames)]),
]

type ResultCsv = { readonly header: string; readonly toLine: (row: ResultRow) => string }

/** Results as CSV (RFC 4180). A file about one kind of number has no columns of the other. */
export function createResultCsv(kinds: readonly Kind[]): ResultCsv {
  const columns = toDataColumns(kinds).filter((name) => name !== 'picture')
  return {
    header: toCsvLine([...FIRST_COLUMNS, ...MATCH_COLUMNS, ...columns]),
    toLine: (row) =>
      toCsvLine([
        ...FIRST_COLUMNS.map((name) => (name === 'message' ? toMessage(row) : row[name])),
        ...DETAIL_FIELDS.map((field) => row.match?.[field]),
        ...columns.map((name) => findValue(row.data, name)),
      ]),
  }
}

/** A refused row has one cell for all its problems. */
const toMessage = ({ errors, message }: ResultRow) =>
  errors ? errors.map((error) => error.message).join('; ') : message

function findValue(data: ResultRow['data'], name: string): unknown {
  let value: unknown = data
  for (const part of name.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[part]
  return value
}

/** The result of a row, as far as there is one. */
export type ResultRow = {
  readonly line: number
  /** The caller's own word for the row. */
  readonly reference: string | null
  readonly operation: string | null
  /** `gone`: the answer is no longer kept. */
  readonly state: 'refused' | 'waiting' | 'running' | 'done' | 'expired' | 'cancelled' | 'gone'
  /** The status, the body and the code of the synchronous response. Null while there is none. */
  readonly status: number | null
  readonly success: boolean
  readonly code: string | null
  readonly message: string | null
  /** How the names and the date of birth of the row compare, as in the header Tabbat-Match. Null if they were not compared. */
  readonly match: Levels | null
  /** Of a refused row. */
  readonly errors?: readonly { readonly field: string | null; readonly message: string }[]
  readonly data: Readonly<Record<string, unknown>> | null
}
