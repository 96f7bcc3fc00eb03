import type { BvnRecord } from '../contract/bvn.ts'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { Settings, ValuesOf } from '../settings/setting.ts'
import type { Trouble } from './trouble.ts'

/**
 * A source that was asked and answered. "No such record" is an answer, not a failure. `reference` is the vendor's own
 * name for this answer, for the audit: it is cleaned before it gets there.
 */
export type Answer<T> =
  | {
      readonly found: true
      readonly record: T
      readonly reference?: unknown
    }
  | {
      readonly found: false
      readonly reference?: unknown
      /**
       * The vendor says that the number is blocked or on a watch list, and gives no record. The search goes on for the
       * record; it never ends as "not found".
       */
      readonly watchlisted?: true
    }

export type NinQuery = { readonly nin: string; readonly phone: string }
export type BvnQuery = { readonly bvn: string; readonly phone: string }

/** What goes along with every question: when to give up, and the reference of the verification. */
export type Call = {
  readonly signal: AbortSignal
  readonly reference: string
  /** Told how long the vendor wants to be left alone, should it say so. */
  readonly onRetryAfter?: (ms: number) => void
}

/** Each ability is optional: a source offers what it can. Phones are ten-digit cores. */
export type Source = {
  readonly name: string
  /** Asked over the network: what is asked there is audited before, and may be paid for. */
  readonly isExternal?: boolean
  readonly findNin?: (ask: NinQuery, call: Call) => Promise<Answer<NinRecord>>
  readonly findBvn?: (ask: BvnQuery, call: Call) => Promise<Answer<BvnRecord>>
  /** The lists as the vendor has them now. What it does not sell stays as it is in `current`, or is left out. */
  readonly fetchCatalogue?: (current: CatalogueFiles, call: Call) => Promise<CatalogueFiles>
  /** Numbers that the vendor made for trying: one of them is asked by `tabbat sources check`. */
  readonly samples?: { readonly nin?: string; readonly bvn?: string }
  /** Why an operation that the vendor sells cannot be served, in one line for the operator. */
  readonly cannot?: { readonly nin?: string; readonly bvn?: string }
  readonly close?: () => Promise<void>
}

export const SOURCE_FAILURES = ['unreachable', 'timeout', 'bad_response', 'refused', 'throttled'] as const
export type SourceFailure = (typeof SOURCE_FAILURES)[number]

type SourceErrorOptions = {
  /** What exactly happened, from a closed list: for `tabbat sources check`. */
  readonly trouble?: Trouble | undefined
  /** False when the question certainly never reached the vendor: then it costs nothing, and may be asked again. */
  readonly sent?: boolean
  readonly fault?: Fault
  /** The vendor wants no question for so long. */
  readonly retryAfterMs?: number | undefined
}

/**
 * Whose fault it was. The source's own counts against it; that of a question it did not like says nothing about others, and
 * that of our deadline, which cut it short of its time, says nothing at all.
 */
export type Fault = 'source' | 'question' | 'deadline'

/** The source could not answer. Its text is ours, never the vendor's: vendors put people into error messages. */
export class SourceError extends Error {
  readonly source: string
  readonly reason: SourceFailure
  readonly trouble: Trouble | undefined
  readonly sent: boolean
  readonly fault: Fault
  readonly retryAfterMs: number | undefined

  constructor(
    source: string,
    reason: SourceFailure,
    { trouble, sent = true, fault = 'source', retryAfterMs }: SourceErrorOptions = {},
  ) {
    super(`${source}: ${reason}`)
    this.name = 'SourceError'
    this.source = source
    this.reason = reason
    this.trouble = trouble
    this.sent = sent
    this.fault = fault
    this.retryAfterMs = retryAfterMs
  }
}

/** What is sent to a vendor. The host is the settings' and nothing else's. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST'
  /** Below the base URL, with a leading slash. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
}

/** `body` is undefined when it was not JSON; that happens only with a status that is not 2xx. */
export type HttpReply = { readonly status: number; readonly body: unknown }

export type Send = (question: HttpRequest, call: Pick<Call, 'signal' | 'onRetryAfter'>) => Promise<HttpReply>

/** What a source is given to ask its vendor with. */
export type VendorDeps = { readonly send: Send; readonly now?: () => Date }

/** What every vendor's folder exports as `create`. */
export type CreateSource<S extends Settings> = (settings: ValuesOf<S>, tools: VendorDeps) => Source
