import { createHash } from 'node:crypto'
import { readPurpose } from '../../contract/free-text.ts'
import type { LoggedRow } from '../../ledger/audit-row.ts'
import type { AuditFilter } from '../audit-filter.ts'
import type { AuditTable, Checkpoint } from '../audit-table.ts'
import { toPlainRow } from '../export.ts'
import { toPublicKey } from '../open-checkpoint.ts'
import type { LogWithArchives } from '../prove.ts'
import { createRowProver } from '../prove.ts'
import { findRows } from '../search.ts'
import type { Timeline } from '../search-timelines.ts'
import { findTimelines, type TimelineTable } from '../search-timelines.ts'
import type { Signer } from '../signing.ts'
import {
  CSV_HEADER,
  END_KIND,
  EXTRACT_KIND,
  type ExtractAbout,
  type ExtractEnd,
  type ExtractFormat,
  type ExtractRecord,
  type ExtractStatement,
  toCsvLine,
  toJsonLine,
} from './extract-format.ts'

type ExtractDeps = LogWithArchives & {
  /** How many archives of the log are not read. */
  readonly missingArchives: number
  readonly signer: Signer
  /** Makes a checkpoint. */
  readonly signNow: () => Promise<void>
  readonly isDemo: boolean
}

export type ExtractOptions = {
  readonly view: ExtractAbout['view']
  readonly format: ExtractFormat
  readonly filter: AuditFilter
  /** The filter as it is written to the file. */
  readonly shownFilter: ExtractAbout['filter']
  /** Names of keys by their id. */
  readonly keyNames: ReadonlyMap<string, string>
  /** Is called with the number of rows, after the last one. */
  readonly onEnd?: ((rows: number) => void) | undefined
}

/**
 * The rows that fit as a file that can be verified alone: see docs/audit-format.md. Verifications that end after the start are
 * not in it.
 */
export async function* writeExtract(deps: ExtractDeps, options: ExtractOptions): AsyncIterable<string> {
  const { view, format, filter, shownFilter, keyNames } = options
  const made_at = new Date().toISOString()
  const until = await findEnd(deps.store.audit, made_at)
  const to = filter.to !== undefined && filter.to < until ? filter.to : until
  const file = createFile(format)
  const archives = deps.missingArchives
  const about: ExtractAbout = {
    kind: EXTRACT_KIND,
    version: 1,
    made_at,
    view,
    filter: shownFilter,
    archives,
    ...(deps.isDemo && { demonstration: true }),
  }
  yield file.start({ record: 'extract', body: JSON.stringify(about) })
  const proveRow = createProveRow(deps)
  let [rows, unproved] = [0, 0]
  for await (const row of listExtractRows(deps.store.audit, view, { ...filter, to })) {
    const { checkpoint, path, added } = await proveRow(row)
    const key_name = (row.key_id !== null && keyNames.get(row.key_id)) || null
    rows += 1
    if (checkpoint === null) unproved += 1
    const purpose = readPurpose(row.detail) ?? null
    yield file.add(...added, { record: 'row', ...toPlainRow(row), key_name, purpose, checkpoint, path })
  }
  const statement: ExtractStatement = {
    kind: END_KIND,
    version: 1,
    rows,
    unproved,
    sha256: file.digest(),
  }
  yield file.toLine(toEnd(statement, deps.signer))
  options.onEnd?.(rows)
}

/** The time of the newest row, if the clock was set back since then. */
async function findEnd(table: AuditTable, now: string): Promise<string> {
  let end = now
  for (const { chain, sequence } of await table.ends()) {
    const last = await table.find(chain, sequence)
    if (last && last.time > end) end = last.time
  }
  return end
}

function toEnd(statement: ExtractStatement, signer: Signer): ExtractEnd {
  const body = JSON.stringify(statement)
  return { record: 'end', body, signature: signer.sign(body) }
}

function createFile(format: ExtractFormat) {
  const hash = createHash('sha256')
  const toLine = (record: ExtractRecord) => (format === 'csv' ? toCsvLine(record) : toJsonLine(record))
  const add = (...records: ExtractRecord[]) => hashText(records.map(toLine).join(''))
  const hashText = (text: string) => {
    hash.update(text)
    return text
  }
  return {
    toLine,
    add,
    start: (header: ExtractRecord) => `${format === 'csv' ? hashText(CSV_HEADER) : ''}${add(header)}`,
    digest: () => hash.digest('hex'),
  }
}

/** Numbers the checkpoints. Each is added to the file before the first row that it proves. */
function createProveRow({ signer, signNow, ...log }: ExtractDeps) {
  const find = createRowProver(log, toPublicKey(signer.publicKey, 'The key'), signNow)
  const numbers = new Map<string, number>()
  const toNumber = ({ signature, time, body }: Checkpoint, added: ExtractRecord[]): number => {
    const known = numbers.get(signature)
    if (known !== undefined) return known
    const checkpoint = numbers.size + 1
    numbers.set(signature, checkpoint)
    added.push({ record: 'checkpoint', checkpoint, time, body, signature })
    return checkpoint
  }
  return async (row: LoggedRow) => {
    const proof = await find(row)
    const added: ExtractRecord[] = []
    if (!proof) return { checkpoint: null, path: null, added }
    const checkpoint = toNumber(proof.checkpoint, added)
    return { checkpoint, path: proof.path.map(({ hash }) => hash).join(' '), added }
  }
}

type ExtractTable = TimelineTable & Pick<AuditTable, 'pageOfReference'>

const ROWS_AT_ONCE = 1000

/**
 * The rows of an extract: those that fit, newest first; or all rows of each verification that fits, one verification after the
 * other, the newest first and its rows oldest first.
 */
async function* listExtractRows(
  table: ExtractTable,
  view: ExtractAbout['view'],
  filter: AuditFilter,
): AsyncIterable<LoggedRow> {
  if (view === 'rows') {
    for await (const { found } of findRows(table, filter)) if (found) yield found
    return
  }
  for await (const { found } of findTimelines(table, filter)) if (found) yield* listRows(table, found)
}

async function* listRows(table: ExtractTable, { reference, rows, isWhole }: Timeline) {
  if (isWhole) return yield* rows
  // A stored response that was returned very often: its rows are read in pages, in the order of their chains.
  let after = { chain: '', sequence: 0 }
  for (;;) {
    const page = await table.pageOfReference(reference, after, ROWS_AT_ONCE)
    yield* page
    const last = page.at(-1)
    if (!last) return
    after = last
  }
}
