import { setImmediate as nextTurn } from 'node:timers/promises'
import { HOUR_MS, MINUTE_MS, steadyNow, toIsoTime } from '../contract/time.ts'
import { isStoreFailure } from '../database/failure.ts'
import { decompress, mayHaveText } from './block-store.ts'
import {
  type KindCount,
  type LoggedRequest,
  parseCounts,
  type RequestKind,
  toLoggedRequest,
} from './block-writer.ts'
import type { BlockHead, BlockId, ListedBlock, RequestTable } from './request-table.ts'

/** All given conditions must hold. */
export type RequestFilter = {
  /** As it is stored; see request-log.ts. */
  readonly requestId?: string | undefined
  readonly reference?: string | undefined
  readonly keyIds?: readonly string[] | undefined
  readonly mode?: string | undefined
  readonly operation?: string | undefined
  readonly code?: string | undefined
  /** A status such as 422, a class of them (4xx, 5xx), or `refused`: 4xx that are not an answer. */
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
export const REQUEST_LIMITS = { rows: 50, blocks: 300 } as const

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
    const row = toLoggedRequest(block, kinds, columns, place)
    if (isWithin(row, filter)) rows.push(row)
  }
  return rows
}

const matches = (row: LoggedRequest, filter: RequestFilter) =>
  matchesKind(row, filter) &&
  (filter.requestId === undefined || filter.requestId === row.requestId) &&
  (filter.reference === undefined || filter.reference === row.reference) &&
  isWithin(row, filter)

const canMatch = ({ counts, requests }: BlockHead, filter: RequestFilter) =>
  requests > 0 && parseCounts(counts).some((kind) => kind.keyId !== '' && matchesKind(kind, filter))

/** What a block must contain. */
const listTexts = ({ requestId, reference }: RequestFilter) =>
  [requestId, reference].filter((text) => text !== undefined)

const mayHaveAll = ({ filter }: ListedBlock, texts: readonly string[]) =>
  filter === undefined || texts.every((text) => mayHaveText(filter, text))

const isWithin = ({ at }: LoggedRequest, { from, until }: RequestFilter) =>
  (from === undefined || at >= from) && (until === undefined || at <= until)

const matchesKind = (kind: RequestKind, { keyIds, mode, operation, code, status }: RequestFilter) =>
  (keyIds === undefined || keyIds.includes(kind.keyId)) &&
  (mode === undefined || mode === kind.mode) &&
  (operation === undefined || operation === kind.operation) &&
  (code === undefined || code === kind.code) &&
  (status === undefined || isStatus(kind, status))

export const STATUS_PATTERN = '^(?:0|[1-5][0-9]{2}|[1-5]xx|refused)$'

function isStatus({ status, code }: RequestKind, wanted: string): boolean {
  if (wanted === 'refused') return toColumn(status, code) === 'refused'
  return wanted.endsWith('xx') ? Math.floor(status / 100) === Number(wanted[0]) : status === Number(wanted)
}

/** Undefined for a text without a time. */
export const toInstant = (time: string | undefined): RequestPeriod | undefined =>
  time === undefined ? undefined : { from: time, to: time }

/** ISO times. */
type RequestPeriod = { readonly from: string; readonly to: string }

/**
 * The requests of one verification that the log still has, oldest first: the first one, retries, and reads of its answer up to
 * an hour after its last audit row. `period` is that of its audit rows.
 */
export async function findRequestsOf(
  table: SearchTable,
  reference: string,
  period: RequestPeriod | undefined,
): Promise<LoggedRequest[]> {
  if (!period) return []
  // A request is logged when its response has been sent, which is after its rows.
  const range = { from: Date.parse(period.from) - MINUTE_MS, until: Date.parse(period.to) + HOUR_MS }
  if (Number.isNaN(range.from + range.until)) return []
  const { rows } = await searchRequests(table, { reference, ...range }, undefined, { rows: 100, blocks: 500 })
  return rows.toReversed()
}

type TailStep = {
  /** Oldest first. */
  readonly rows: readonly LoggedRequest[]
  /** There were more than are shown. */
  readonly isCut: boolean
}

/** The requests since the last call. */
type Tail = () => Promise<TailStep>

/** Processes write their lines every two seconds, one before the other: a line may come this much later than a newer one. */
const LATE_MS = 15_000
/** At more requests than this between two calls, only the newest are shown. */
const TAIL_LIMITS = { rows: 200, blocks: 40 } as const

/** While the store is unavailable, what is in memory is followed. */
function toNone(error: unknown): Pick<RequestPage, 'rows' | 'next'> {
  if (!isStoreFailure(error)) throw error
  return { rows: [], next: undefined }
}

/** Follows the log of all processes, from `begin` on, with what they have not written yet. */
export function createTail(
  table: SearchTable,
  filter: RequestFilter,
  begin: number = steadyNow(),
  listUnwritten: () => Promise<readonly LoggedRequest[]> = async () => [],
): Tail {
  let shown = new Map<string, number>()
  return async () => {
    const from = Math.max(begin, steadyNow() - LATE_MS)
    const range = { ...filter, from }
    const unwritten = (await listUnwritten()).filter((row) => matches(row, range))
    const { rows: written, next } = await searchRequests(table, range, undefined, TAIL_LIMITS).catch(toNone)
    const all = sortUnique([...unwritten, ...written])
    const rows = all.slice(0, TAIL_LIMITS.rows)
    const isNew = (row: LoggedRequest) => !shown.has(row.row)
    const added = rows.filter(isNew).reverse()
    const isCut = (next !== undefined || rows.length < all.length) && rows.every(isNew)
    shown = new Map([...shown].filter(([, at]) => at >= from))
    for (const { row, at } of rows) shown.set(row, at)
    return { rows: added, isCut }
  }
}

/** A request as the admin API and the command line show it. */
export const toRequestView = (request: LoggedRequest, names: ReadonlyMap<string, string>) => ({
  row: request.row,
  time: toIsoTime(request.at),
  request_id: request.requestId,
  request_reference: request.reference === '' ? null : request.reference,
  key_id: request.keyId,
  key_name: names.get(request.keyId) ?? null,
  mode: request.mode,
  operation: request.operation,
  method: request.method,
  status: request.status,
  code: request.code,
  duration_ms: request.durationMs,
  fields: [...request.fields],
})

/** The requests of one key. Every request is in one of these numbers, and in `requests`. */
type KeyRate = {
  readonly keyId: string
  readonly mode: string
  requests: number
  /** 2xx, 304, and 422 not_verified, which is an answer. */
  answered: number
  /** The other 4xx. */
  refused: number
  /** 5xx. */
  failed: number
  /** The caller closed the connection before the response. */
  brokenOff: number
  /** Of those that were not answered, the most frequent first. */
  codes: readonly CodeCount[]
}

type CodeCount = { readonly code: string; readonly status: number; readonly requests: number }

type KeyRates = {
  /** The one with the most requests that were not answered first. */
  readonly keys: readonly KeyRate[]
  /** Requests without a valid key, by status. */
  readonly keyless: readonly { readonly status: number; readonly count: number }[]
}

const HEADS_AT_ONCE = 500

/** Counts whole blocks, without reading lines. A block spans an hour at most, so the first one may begin before `from`. */
export async function readKeyRates(table: Pick<RequestTable, 'list'>, from: number): Promise<KeyRates> {
  const rates = new Map<string, KeyRate>()
  const keyless = new Map<number, number>()
  let after: BlockHead | undefined
  do {
    const heads: BlockHead[] = await table.list({
      from,
      until: Number.MAX_SAFE_INTEGER,
      after,
      most: HEADS_AT_ONCE,
    })
    for (const count of heads.flatMap((head) => parseCounts(head.counts)))
      if (count.keyId === '') keyless.set(count.status, (keyless.get(count.status) ?? 0) + count.count)
      else addCount(rates, count)
    after = heads.length < HEADS_AT_ONCE ? undefined : heads.at(-1)
  } while (after)
  for (const rate of rates.values()) rate.codes = rate.codes.toSorted((a, b) => b.requests - a.requests)
  return {
    keys: [...rates.values()].sort((a, b) => countErrors(b) - countErrors(a) || b.requests - a.requests),
    keyless: [...keyless].map(([status, count]) => ({ status, count })).sort((a, b) => a.status - b.status),
  }
}

const countErrors = ({ refused, failed, brokenOff }: KeyRate): number => refused + failed + brokenOff

function addCount(rates: Map<string, KeyRate>, { keyId, mode, status, code, count }: KindCount): void {
  const rate = rates.get(keyId) ?? {
    keyId,
    mode,
    requests: 0,
    answered: 0,
    refused: 0,
    failed: 0,
    brokenOff: 0,
    codes: [],
  }
  rates.set(keyId, rate)
  const column = toColumn(status, code)
  rate.requests += count
  rate[column] += count
  if (column === 'answered') return
  const isSame = (known: CodeCount) => known.code === code && known.status === status
  const requests = (rate.codes.find(isSame)?.requests ?? 0) + count
  rate.codes = [...rate.codes.filter((known) => !isSame(known)), { code, status, requests }]
}

function toColumn(status: number, code: string): 'answered' | 'refused' | 'failed' | 'brokenOff' {
  if (status === 0) return 'brokenOff'
  if (status < 400 || code === 'not_verified') return 'answered'
  return status < 500 ? 'refused' : 'failed'
}
