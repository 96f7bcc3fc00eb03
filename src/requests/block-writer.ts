import { HOUR_MS } from '../contract/time.ts'
import { type Columns, createColumns, toNumber } from './columns.ts'
import type { BlockHead } from './request-table.ts'

/** One request, as the log is given it. */
export type FinishedRequest = RequestKind & {
  /** As it is stored; see request-log.ts. */
  readonly requestId: string
  readonly reference: string | undefined
  readonly durationMs: number
  readonly fields: readonly string[] | undefined
}

/** A block that is not written yet. */
export type PlainBlock = BlockHead & { readonly columns: Columns }

type Counted = RequestKind & { readonly place: number; readonly text: string; count: number }

/** Requests of a block. */
export const BLOCK_REQUESTS = 2000
const MAX_MICROS = 0xffffffff

/** Collects the requests of one process. Every request pays for `add`, so it prints nothing and allocates next to nothing. */
export class BlockWriter {
  readonly #owner: string
  readonly #onFull: (block: PlainBlock) => void
  #columns = createColumns(0)
  #number = 0
  #first = 0
  #hour = 0
  #fromAt = 0
  #toAt = 0
  #last = new Map<string, Counted>()
  #counted = new Map<string, Counted>()
  #keyless = new Map<number, number>()

  constructor(owner: string, onFull: (block: PlainBlock) => void) {
    this.#owner = owner
    this.#onFull = onFull
  }

  add(request: FinishedRequest): void {
    const at = Date.now()
    this.#begin(at)
    const { requestId, reference = '', operation, durationMs, fields } = request
    const last = this.#last.get(operation)
    const counted = last && isAlike(last, request) ? last : this.#find(request)
    counted.count += 1
    const { times, micros, kinds, ids, references } = this.#columns
    times.push(at - this.#hour)
    micros.push(Math.min(Math.round(durationMs * 1000), MAX_MICROS))
    kinds.push(counted.place)
    references.push(reference)
    if (fields) this.#columns.fields.set(ids.length, toFieldText(fields))
    this.#number += 1
    if (ids.push(requestId) === BLOCK_REQUESTS) this.seal()
  }

  /** A request without a valid key: only its status is counted. */
  countKeyless(status: number): void {
    this.#begin(Date.now())
    this.#keyless.set(status, (this.#keyless.get(status) ?? 0) + 1)
  }

  get hasRequests(): boolean {
    return this.#columns.ids.length > 0
  }

  /** Ends the block, if it has anything. */
  seal(): void {
    if (!this.hasRequests && this.#keyless.size === 0) return
    const block = this.read()
    // Also without a request: the name of the next block must be another.
    this.#number += 1
    this.#columns = createColumns(this.#number)
    this.#last = new Map()
    this.#counted = new Map()
    this.#keyless = new Map()
    this.#onFull(block)
  }

  /** The block so far. */
  read(): PlainBlock {
    const counts = [
      ...[...this.#counted.values()].map(({ text, count }) => toCountLine(text, count)),
      ...[...this.#keyless].map(([status, count]) => toCountLine(toKindText({ ...KEYLESS, status }), count)),
    ].join('')
    return {
      owner: this.#owner,
      first: this.#first,
      fromAt: this.#fromAt,
      toAt: this.#toAt,
      requests: this.#columns.ids.length,
      counts,
      columns: this.#columns,
    }
  }

  #begin(at: number): void {
    const hour = toHourStart(at)
    if (hour === this.#hour && (this.hasRequests || this.#keyless.size > 0)) {
      if (at > this.#toAt) this.#toAt = at
      // The clock was set back.
      else if (at < this.#fromAt) this.#fromAt = at
      return
    }
    this.seal()
    this.#hour = hour
    this.#first = this.#number
    this.#fromAt = at
    this.#toAt = at
  }

  #find(request: FinishedRequest): Counted {
    const text = toKindText(request)
    const { keyId, mode, operation, method, status, code } = request
    const place = this.#counted.size
    const counted = this.#counted.get(text) ?? {
      keyId,
      mode,
      operation,
      method,
      status,
      code,
      place,
      text,
      count: 0,
    }
    this.#counted.set(text, counted)
    this.#last.set(operation, counted)
    return counted
  }
}

const KEYLESS: RequestKind = {
  keyId: '',
  mode: 'none',
  operation: '',
  method: '',
  status: 0,
  code: '',
}

const isAlike = (one: Counted, other: RequestKind) =>
  one.keyId === other.keyId &&
  one.code === other.code &&
  one.status === other.status &&
  one.mode === other.mode &&
  one.method === other.method

const MAX_FIELDS = 12

/** Names of our own, never of the caller; the rest is a precaution. */
const toFieldText = (fields: readonly string[]) =>
  fields
    .slice(0, MAX_FIELDS)
    .map((name) => name.replace(/[^\w.-]/g, '').slice(0, 40))
    .join(',')

/** What the request log has about one request: no address, header, query, body or value of a field. */
export type LoggedRequest = {
  /** Unique: the process and its number of the request. */
  readonly row: string
  /** When it was answered, or broken off. */
  readonly at: number
  /** As it is stored; see request-log.ts. */
  readonly requestId: string
  /** Empty where there is none. */
  readonly reference: string
  readonly keyId: string
  readonly mode: string
  readonly operation: string
  readonly method: string
  /** 0: the caller closed the connection before the response. */
  readonly status: number
  /** The error code, `ok`, or the outcome of a verification. */
  readonly code: string
  readonly durationMs: number
  /** The names of the wrong fields of a 422. */
  readonly fields: readonly string[]
}

/** What requests are counted by. */
export type RequestKind = Pick<LoggedRequest, 'keyId' | 'mode' | 'operation' | 'method' | 'status' | 'code'>

export type KindCount = RequestKind & { readonly count: number }

/** No value has a tab or a line break. */
export const toKindText = ({ keyId, mode, operation, method, status, code }: RequestKind): string =>
  `${keyId}\t${mode}\t${operation}\t${method}\t${status}\t${code}`

export const toCountLine = (kindText: string, count: number): string => `${kindText}\t${count}\n`

/** Times of requests are stored relative to it. */
export const toHourStart = (at: number): number => at - (at % HOUR_MS)

/** In the order of the lines, by which requests name their kinds. */
export const parseCounts = (counts: string): KindCount[] =>
  counts
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [keyId = '', mode = '', operation = '', method = '', status, code = '', count] = line.split('\t')
      return { keyId, mode, operation, method, status: Number(status), code, count: Number(count) }
    })

/** The request at a place of a block, whose kinds are those of its counts. */
export function toLoggedRequest(
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
