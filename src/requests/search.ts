import { setImmediate as nextTurn } from 'node:timers/promises'
import { decompress } from './block-store.ts'
import { type Columns, toNumber } from './columns.ts'
import { type KindCount, type LoggedRequest, parseCounts, type RequestKind, toHourStart } from './line.ts'
import type { BlockHead, BlockId, ListedBlock, RequestTable } from './request-table.ts'
import { mayHaveText } from './text-filter.ts'

/** All given conditions must hold. */
export type RequestFilter = {
  /** As it is stored; see stored-id.ts. */
  readonly requestId?: string | undefined
  readonly reference?: string | undefined
  readonly keyId?: string | undefined
  readonly mode?: string | undefined
  readonly operation?: string | undefined
  readonly code?: string | undefined
  /** A status such as 422, or a class of them: 4xx, 5xx. */
  readonly status?: string | undefined
  readonly from?: number | undefined
  readonly until?: number | undefined
}

/** A row, or the place before it. Rows are ordered by time, then by their names. */
export type RequestPosition = Pick<LoggedRequest, 'at' | 'row'>

type RequestPage = {
  /** Newest first. */
  readonly rows: readonly LoggedRequest[]
  /** Where the next page begins; undefined at the end. */
  readonly next: RequestPosition | undefined
  /** The search stopped early, at the limit of blocks that one search reads. */
  readonly isCut: boolean
}

export type SearchTable = Pick<RequestTable, 'list' | 'read'>

/** `blocks` is about half a million requests. */
const REQUEST_LIMITS = { rows: 50, blocks: 300 } as const

/** Blocks whose heads are read at once. */
const HEADS = 200

/** Reads blocks from the newest to the oldest. Those that cannot match are passed over by their counts and their filters. */
export async function searchRequests(
  table: SearchTable,
  filter: RequestFilter,
  before?: RequestPosition | undefined,
  limits: { readonly rows: number; readonly blocks: number } = REQUEST_LIMITS,
): Promise<RequestPage> {
  const found: LoggedRequest[] = []
  let read = 0
  const until = Math.min(filter.until ?? Number.MAX_SAFE_INTEGER, before?.at ?? Number.MAX_SAFE_INTEGER)
  const texts = listTexts(filter)
  // Of which a block was joined to an older one after it was listed: what was listed of that one does not have its requests.
  const joined = new Set<string>()
  for await (const head of listHeads(table, filter.from ?? 0, until, texts.length > 0)) {
    // Rows that are newer than all blocks to come are in order.
    if (found.filter(({ at }) => at > head.toAt).length > limits.rows) break
    if (!joined.has(head.owner) && !(canMatch(head, filter) && mayHaveAll(head, texts))) continue
    if (read === limits.blocks) return toCutPage(found, head, limits.rows)
    read += 1
    const rows = await readRows(table, head, filter)
    if (!rows) {
      joined.add(head.owner)
      continue
    }
    found.push(...rows.filter((row) => !before || compareRequests(before, row) < 0))
    await nextTurn()
  }
  const rows = sortUnique(found)
  const last = rows[limits.rows - 1]
  return {
    rows: rows.slice(0, limits.rows),
    next: rows.length > limits.rows ? last : undefined,
    isCut: false,
  }
}

/** Ends at the block that was not read any more: what is older than its end may be incomplete. */
function toCutPage(found: readonly LoggedRequest[], head: BlockHead, most: number): RequestPage {
  const rows = sortUnique(found).filter(({ at }) => at > head.toAt)
  if (rows.length > most) return { rows: rows.slice(0, most), next: rows[most - 1], isCut: false }
  return { rows, next: { at: head.toAt, row: '\uffff' }, isCut: true }
}

async function* listHeads(
  table: SearchTable,
  from: number,
  until: number,
  withFilters: boolean,
): AsyncIterable<ListedBlock> {
  let after: BlockHead | undefined
  for (;;) {
    const heads: ListedBlock[] = await table.list({ from, until, after, most: HEADS, withFilters })
    yield* heads
    if (heads.length < HEADS) return
    after = heads.at(-1)
  }
}

/** Negative if the first is newer. */
function compareRequests(one: RequestPosition, other: RequestPosition): number {
  if (one.at !== other.at) return other.at - one.at
  if (one.row === other.row) return 0
  return one.row > other.row ? -1 : 1
}

/** A block that was joined to another while the log was read may have come twice. */
const sortUnique = (rows: readonly LoggedRequest[]): LoggedRequest[] =>
  [...new Map(rows.map((row) => [row.row, row])).values()].sort(compareRequests)

async function readRows(
  table: SearchTable,
  id: BlockId,
  filter: RequestFilter,
): Promise<LoggedRequest[] | undefined> {
  const block = await table.read(id)
  // Removed meanwhile, or joined to the block before it.
  if (!block) return undefined
  const { requestId, reference } = filter
  const columns = await decompress(block.lines, block.requests, listTexts(filter))
  if (!columns) return []
  const kinds = parseCounts(block.counts)
  const isWanted = kinds.map((kind) => matchesKind(kind, filter))
  const rows: LoggedRequest[] = []
  for (const [place, id] of columns.ids.entries()) {
    if (!isWanted[columns.kinds[place] as number]) continue
    if (requestId !== undefined && requestId !== id) continue
    if (reference !== undefined && reference !== columns.references[place]) continue
    const row = toRow(block, kinds, columns, place)
    if (isWithin(row, filter)) rows.push(row)
  }
  return rows
}

function toRow(
  { owner, fromAt }: BlockHead,
  kinds: readonly KindCount[],
  columns: Columns,
  place: number,
): LoggedRequest {
  const { times, micros, ids, references, fields, starts } = columns
  const { count: _count, ...kind } = kinds[columns.kinds[place] as number] as KindCount
  return {
    row: `${owner}/${toNumber(starts, place)}`,
    at: toHourStart(fromAt) + (times[place] as number),
    requestId: ids[place] as string,
    reference: references[place] as string,
    ...kind,
    durationMs: (micros[place] as number) / 1000,
    fields: fields.get(place)?.split(',') ?? [],
  }
}

const canMatch = ({ counts, requests }: BlockHead, filter: RequestFilter) =>
  requests > 0 && parseCounts(counts).some((kind) => kind.keyId !== '' && matchesKind(kind, filter))

/** What a block must contain. */
const listTexts = ({ requestId, reference }: RequestFilter) =>
  [requestId, reference].filter((text) => text !== undefined)

const mayHaveAll = ({ filter }: ListedBlock, texts: readonly string[]) =>
  filter === undefined || texts.every((text) => mayHaveText(filter, text))

const isWithin = ({ at }: LoggedRequest, { from, until }: RequestFilter) =>
  (from === undefined || at >= from) && (until === undefined || at <= until)

const matchesKind = (kind: RequestKind, { keyId, mode, operation, code, status }: RequestFilter) =>
  (keyId === undefined || keyId === kind.keyId) &&
  (mode === undefined || mode === kind.mode) &&
  (operation === undefined || operation === kind.operation) &&
  (code === undefined || code === kind.code) &&
  (status === undefined || isStatus(kind.status, status))

export const STATUS_PATTERN = '^(?:0|[1-5][0-9]{2}|[1-5]xx)$'

const isStatus = (status: number, wanted: string) =>
  wanted.endsWith('xx') ? Math.floor(status / 100) === Number(wanted[0]) : status === Number(wanted)
