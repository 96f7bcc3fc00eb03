import { type Columns, createColumns } from './columns.ts'
import { type RequestKind, toCountLine, toHourStart, toKindText } from './line.ts'
import type { BlockHead } from './request-table.ts'

/** One request, as the log is given it. */
export type FinishedRequest = RequestKind & {
  /** As it is stored; see stored-id.ts. */
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
const MOST_MICROS = 0xffffffff

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
    micros.push(Math.min(Math.round(durationMs * 1000), MOST_MICROS))
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
    const counts = [
      ...[...this.#counted.values()].map(({ text, count }) => toCountLine(text, count)),
      ...[...this.#keyless].map(([status, count]) => toCountLine(toKindText({ ...KEYLESS, status }), count)),
    ].join('')
    const block = {
      ...{ owner: this.#owner, first: this.#first, fromAt: this.#fromAt, toAt: this.#toAt },
      ...{ requests: this.#columns.ids.length, counts, columns: this.#columns },
    }
    // Also without a request: the name of the next block must be another.
    this.#number += 1
    this.#columns = createColumns(this.#number)
    this.#last = new Map()
    this.#counted = new Map()
    this.#keyless = new Map()
    this.#onFull(block)
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
      ...{ keyId, mode, operation, method, status, code, place, text, count: 0 },
    }
    this.#counted.set(text, counted)
    this.#last.set(operation, counted)
    return counted
  }
}

const KEYLESS: RequestKind = {
  ...{ keyId: '', mode: 'none', operation: '', method: '', status: 0, code: '' },
}

const isAlike = (one: Counted, other: RequestKind) =>
  one.keyId === other.keyId &&
  one.code === other.code &&
  one.status === other.status &&
  one.mode === other.mode &&
  one.method === other.method

const MOST_FIELDS = 12

/** Names of our own, never of the caller; the rest is a precaution. */
const toFieldText = (fields: readonly string[]) =>
  fields
    .slice(0, MOST_FIELDS)
    .map((name) => name.replace(/[^\w.-]/g, '').slice(0, 40))
    .join(',')
