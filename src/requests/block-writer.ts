import { steadyNow } from '../contract/time.ts'
import type { NewBlock } from '../store/request-table.ts'
import { type RequestKind, toCountLine, toHourStart, toKindText } from './line.ts'

/** One request, as the log is given it. */
export type FinishedRequest = RequestKind & {
  /** As it is stored; see stored-id.ts. */
  readonly requestId: string
  readonly reference: string | undefined
  readonly durationMs: number
  readonly fields: readonly string[] | undefined
}

/** A block that is not compressed yet. */
export type PlainBlock = NewBlock & { readonly lines: Buffer }

type Counted = RequestKind & { readonly text: string; count: number }

/** Room for the lines of a block, about two thousand. */
export const BLOCK_BYTES = 256 * 1024
/** No line is longer: ids and references have 64 characters at most, the other values come from short lists. */
const LONGEST_LINE = 1024

/**
 * Collects the lines of one process in a buffer. Every request pays for this, so it makes one short string for each, and what
 * requests of an operation have in common is printed once.
 */
export class BlockWriter {
  readonly #owner: string
  readonly #onFull: (block: PlainBlock) => void
  #bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #length = 0
  #number = 0
  #first = 0
  #requests = 0
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
    this.#begin(steadyNow())
    const { requestId, reference = '', operation, durationMs, fields } = request
    const last = this.#last.get(operation)
    const counted = last && isAlike(last, request) ? last : this.#find(request)
    counted.count += 1
    const micros = Math.round(durationMs * 1000)
    const start = `${this.#number}\t${this.#toAt - this.#hour}\t${requestId}\t${reference}\t`
    const line = `${start}${counted.text}\t${micros}\t${fields ? toFieldText(fields) : ''}\n`
    this.#length += this.#bytes.write(line, this.#length, 'latin1')
    this.#number += 1
    this.#requests += 1
    if (this.#length > BLOCK_BYTES - LONGEST_LINE) this.seal()
  }

  /** A request without a valid key: only its status is counted. */
  countKeyless(status: number): void {
    this.#begin(steadyNow())
    this.#keyless.set(status, (this.#keyless.get(status) ?? 0) + 1)
  }

  get hasLines(): boolean {
    return this.#requests > 0
  }

  /** Ends the block, if it has anything. */
  seal(): void {
    if (this.#requests === 0 && this.#keyless.size === 0) return
    const counts = [
      ...[...this.#counted.values()].map(({ text, count }) => toCountLine(text, count)),
      ...[...this.#keyless].map(([status, count]) => toCountLine(toKindText({ ...KEYLESS, status }), count)),
    ].join('')
    const block = {
      ...{ owner: this.#owner, first: this.#first, fromAt: this.#fromAt, toAt: this.#toAt },
      ...{ requests: this.#requests, counts, lines: this.#takeLines() },
    }
    this.#length = 0
    this.#requests = 0
    // Also without a line: the name of the next block must be another.
    this.#number += 1
    this.#last = new Map()
    this.#counted = new Map()
    this.#keyless = new Map()
    this.#onFull(block)
  }

  /** A small block is copied, so that it does not hold the whole buffer. */
  #takeLines(): Buffer {
    const lines = this.#bytes.subarray(0, this.#length)
    if (lines.length < BLOCK_BYTES / 2) return Buffer.concat([lines])
    this.#bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    return lines
  }

  #begin(at: number): void {
    const isEmpty = this.#requests === 0 && this.#keyless.size === 0
    const hour = toHourStart(at)
    if (!isEmpty && hour === this.#hour) {
      // A clock that is set back does not change the order of the lines.
      if (at > this.#toAt) this.#toAt = at
      return
    }
    this.seal()
    this.#hour = hour
    this.#first = this.#number
    this.#fromAt = at
    this.#toAt = at
  }

  #find(request: FinishedRequest): Counted {
    const { keyId, mode, operation, method, status, code } = request
    const text = toKindText(request)
    const counted = this.#counted.get(text) ?? {
      keyId,
      mode,
      operation,
      method,
      status,
      code,
      text,
      count: 0,
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
