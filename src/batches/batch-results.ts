import type { KeyObject } from 'node:crypto'
import { toCsvLine } from '../contract/csv.ts'
import { DETAIL_FIELDS } from '../contract/person.ts'
import { steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Kind } from '../crypto/mac.ts'
import { AppError, ERRORS, type ErrorCode } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import { toFieldNames } from '../registry/import/record-fields.ts'
import { renewMediaLinks } from '../registry/media-link.ts'
import { NIN } from '../verification/id-type.ts'
import type { StoredResponse } from '../verification/idempotency.ts'
import { type Levels, readMatchText } from '../verification/match-details.ts'
import type { QueueDeps } from '../verification/queue/open-queue.ts'
import { openAnswer } from '../verification/queue/sealed-question.ts'
import { toStillVisible } from '../verification/verification.ts'
import type { BatchResult } from './batch.ts'
import { mayRead } from './batch-row.ts'
import type { BatchTable } from './batch-table.ts'
import { openRowLabel } from './seal-row.ts'
import type { Turns } from './turns.ts'

/** About ten milliseconds of the process on SQLite. */
const ROWS_AT_ONCE = 20
/** A key that was revoked reads nothing more after this. */
const RECHECK_MS = 1000

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

type Deps = {
  readonly table: Pick<BatchTable, 'listResults'>
  readonly queue: Pick<QueueDeps, 'keyring' | 'settings' | 'findCaller'>
  readonly turns: Turns
  /** Signs links to pictures. */
  readonly pictureKey: () => KeyObject
}

/** The key that reads, as it is now. */
export type Reader = Pick<Caller, 'keyId' | 'scopes' | 'hidden' | 'lineage'>

/**
 * The results of a batch in the order of its lines, as text in pieces. Rows without a result say their state. The client decides how
 * long this takes: a key that is revoked meanwhile ends it.
 */
export async function* writeResults(
  { table, queue, turns, pictureKey }: Deps,
  id: string,
  type: ResultType,
  caller: Reader,
): AsyncGenerator<string> {
  const { keepMs } = queue.settings
  const csv = type === 'text/csv' ? createResultCsv(['nin', 'bvn']) : undefined
  const toLine = csv?.toLine ?? ((row: ResultRow) => `${JSON.stringify(row)}\n`)
  const findReader = createFindReader(queue, caller)
  let head = csv?.header ?? ''
  let line: number | undefined = 0
  while (line !== undefined) {
    const afterLine: number = line
    const readPage = async () => {
      const reader = await findReader()
      const rows = await table.listResults(id, { afterLine, most: ROWS_AT_ONCE, keepMs }, steadyNow())
      const keys = { ...queue, pictureKey: pictureKey() }
      const text = rows.map((row) => toLine(toResultRow(keys, row, reader))).join('')
      return { text, last: rows.length < ROWS_AT_ONCE ? undefined : rows.at(-1)?.line }
    }
    const { text, last } = await turns.take(caller.lineage, readPage)
    if (text !== '') yield head + text
    head = ''
    line = last
  }
}

/** The key as it was at most a second ago. */
function createFindReader({ findCaller }: Pick<QueueDeps, 'findCaller'>, caller: Reader) {
  let reader = caller
  let readAt = performance.now()
  return async (): Promise<Reader> => {
    const at = performance.now()
    if (at - readAt < RECHECK_MS) return reader
    const found = await findCaller(caller.keyId)
    // The successor of a key that was rolled reads its own download.
    if (found?.keyId !== caller.keyId) throw new AppError('unauthenticated')
    reader = found
    readAt = at
    return reader
  }
}

const NO_ANSWER = {
  status: null,
  success: false,
  code: null,
  message: null,
  match: null,
  data: null,
} as const

type Keys = { readonly keyring: Keyring; readonly pictureKey: KeyObject }

function toResultRow({ keyring, pictureKey }: Keys, row: BatchResult, reader: Reader): ResultRow {
  const { line, reference, operation = null, refusals, answer } = row
  const about = { line, reference: openRowLabel(keyring, row), operation }
  if (refusals !== undefined)
    return { ...about, state: 'refused', ...toFailure('validation_failed'), errors: JSON.parse(refusals) }
  if (answer && reference) {
    // The key may have lost the scope since, or see fewer fields.
    const isReadable = mayRead(reader.scopes, row.operation)
    const stored = openAnswer(keyring, reference, answer, reader.lineage)
    const kind = operation === NIN.operation ? 'nin' : 'bvn'
    const visible = toStillVisible(stored, kind, reader)
    const body = renewMediaLinks(pictureKey, visible.body, reader.keyId)
    const answered = isReadable ? toAnswer({ ...visible, body }) : toFailure('forbidden')
    return { ...about, state: row.state === 'expired' ? 'expired' : 'done', ...answered }
  }
  const state = toState(row)
  return { ...about, state, ...(state === 'expired' ? toFailure('expired') : NO_ANSWER) }
}

/** Before it is moved to the queue, a row waits; one that is neither there nor here was cancelled or erased. */
function toState({ state, isRunning, isWaiting }: BatchResult): ResultRow['state'] {
  if (state === 'pending') return isRunning ? 'running' : 'waiting'
  if (state === 'expired' || state === 'gone') return state
  return isWaiting ? 'waiting' : 'cancelled'
}

type Body = Pick<ResultRow, 'success' | 'data'> & Partial<Pick<ResultRow, 'code' | 'message'>>

/** The same as the synchronous response. */
function toAnswer({ status, body, match }: StoredResponse) {
  const { success, code = null, message = null, data = null } = JSON.parse(body) as Body
  return { status, success, code, message, match: readMatchText(match), data }
}

const toFailure = (code: ErrorCode) => {
  const { status, message } = ERRORS[code]
  return { ...NO_ANSWER, status, code, message }
}

/** The formats of results. The first is the default. */
const RESULT_TYPES = ['application/x-ndjson', 'text/csv'] as const
export type ResultType = (typeof RESULT_TYPES)[number]

/** The format that the client likes most, by the Accept header (RFC 9110). Without a format that we have: the default. */
export function toResultType(accept: string | undefined): ResultType {
  const ranges = (accept ?? '').split(',').map(toRange)
  const [best] = RESULT_TYPES.map((type) => ({ type, quality: toQuality(ranges, type) })).sort(
    (one, other) => other.quality - one.quality,
  )
  return best && best.quality > 0 ? best.type : RESULT_TYPES[0]
}

type Range = { readonly name: string; readonly quality: number }

function toRange(text: string): Range {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '')
  return { name, quality: quality === undefined ? 1 : Number(quality) || 0 }
}

/** The most specific range that fits decides. */
function toQuality(ranges: readonly Range[], type: ResultType): number {
  const [group] = type.split('/')
  for (const name of [type, `${group}/*`, '*/*']) {
    const range = ranges.find((each) => each.name === name)
    if (range) return range.quality
  }
  return 0
}

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
