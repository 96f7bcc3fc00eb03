import type { CatalogueFiles } from '../contract/bundles.ts'
import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { DetailField, PersonDetails } from '../contract/person.ts'
import type { Kind } from '../crypto/mac.ts'
import type { Settings, ValuesOf } from '../settings/setting.ts'
import type { RecordQuestion, RecordRows } from './lookup.ts'
import { mayBeOfOnePerson, type SourceProblem } from './source-problem.ts'
import type { OperationName, VendorRule } from './vendor-file/schema.ts'

/**
 * The answer of a source. "No such record" is an answer, not a failure. `reference` is the vendor's own reference, for the
 * audit log: it is cleaned before it is written.
 */
export type Answer<T> =
  | {
      readonly found: true
      readonly record: T
      readonly reference?: unknown
      /** In naira, where the vendor says what the call cost. */
      readonly price?: unknown
      /** The virtual NIN that the vendor's answer repeats: it must be the requested one. */
      readonly virtualNin?: unknown
      /** The answer to a virtual NIN may have the NIN behind it alone, by the vendor's documents. */
      readonly mayOmitVirtualNin?: true
    }
  | {
      readonly found: false
      readonly reference?: unknown
      /**
       * The vendor says that the number is blocked or on a watch list, and gives no record. The search continues with the
       * next source and never ends as "not found".
       */
      readonly watchlisted?: true
      /**
       * The vendor compared names itself, and they are not those of this number. It gives no record, so the phone is not known, and
       * neither answer is certain. It counts as an answer of the source, and for the search as a failure.
       */
      readonly namesDiffer?: true
    }

/** `nin` may be a virtual NIN, for sources that accept it. */
export type NinQuery = Query & { readonly nin: string }
export type BvnQuery = Query & { readonly bvn: string }

/** Details are sent only to vendors that need them. */
type Query = { readonly phone: string; readonly details?: PersonDetails | undefined }

/** The context of every call: the deadline, and the reference of the verification. */
export type Call = {
  readonly signal: AbortSignal
  readonly reference: string
  /** For vendors that accept it: see `traceparentSetting`. */
  readonly traceparent?: string
  /** Called with the vendor's Retry-After. */
  readonly onRetryAfter?: (ms: number) => void
  /** Called with every reply of the vendor. */
  readonly onReply?: (reply: HttpReply) => void
  /** Called with the rule of a vendor file that decides about the reply of a look-up; undefined if its HTTP status does. */
  readonly onRule?: (rule: VendorRule | undefined) => void
}

/** A source inside this process: it answers from rows that were read before, and at once unless keys must be reloaded. */
export type LocalSource = {
  /** The rows to be read. Absent where the source needs none. */
  readonly toQuestion?: (kind: Kind, number: string) => RecordQuestion
  readonly findNin: (query: NinQuery, rows: RecordRows) => Answer<NinRecord> | Promise<Answer<NinRecord>>
  readonly findBvn: (query: BvnQuery, rows: RecordRows) => Answer<BvnRecord> | Promise<Answer<BvnRecord>>
}

/** Each ability is optional. Phones are ten-digit cores. */
export type Source = {
  readonly name: string
  /** Called over the network: each call is audited before it is made, and may be paid for. */
  readonly isExternal?: boolean
  readonly findNin?: (query: NinQuery, call: Call) => Promise<Answer<NinRecord>>
  readonly findBvn?: (query: BvnQuery, call: Call) => Promise<Answer<BvnRecord>>
  /** `findNin` takes a virtual NIN as well. */
  readonly acceptsVirtualNin?: true
  /** It is passed over for requests without these details. */
  readonly needsDetails?: Readonly<Record<OperationName, readonly DetailField[]>> | undefined
  /** Absent in sources outside this process. */
  readonly local?: LocalSource
  /** The vendor's current lists. What it does not sell is returned as in `current`, or left out. */
  readonly fetchCatalogue?: (current: CatalogueFiles, call: Call) => Promise<CatalogueFiles>
  /** Whether a reply says that the vendor does not sell a list. It has none, so its error contradicts nothing. */
  readonly saysNotSold?: (body: unknown) => boolean
  /** The vendor's test numbers: `tabbat sources check` queries one of them. */
  readonly samples?: { readonly nin?: string; readonly bvn?: string; readonly details?: PersonDetails }
  /** Reads a record of a synthetic person from a reply such as the vendor sends. */
  readonly readDecoy?: (kind: Kind) => { readonly record: NinRecord | BvnRecord; readonly body: unknown }
  readonly close?: () => Promise<void>
}

export const SOURCE_FAILURES = [
  'unreachable',
  'timeout',
  'bad_response',
  'refused',
  'throttled',
  /** Only of the registry: nothing was imported. */
  'no_records',
] as const
export type SourceFailure = (typeof SOURCE_FAILURES)[number]

type SourceErrorOptions = {
  /** The exact cause, from a closed list: for `tabbat sources check`, metrics and warnings. */
  readonly problem?: SourceProblem | undefined
  /** False when the request certainly never reached the vendor: then it is not paid for, and may be repeated. */
  readonly sent?: boolean
  /** By default it follows from the problem. */
  readonly fault?: Fault
  /** The vendor's Retry-After. */
  readonly retryAfterMs?: number | undefined
}

/**
 * What caused a failure. `source` counts against the source; `request` may be about this one person only, and counts when several
 * different people in a row have the same problem; `deadline` is our own time limit, and says nothing about the source.
 */
export type Fault = 'source' | 'request' | 'deadline'

/** The source could not answer. The message is ours: a vendor's error text may contain personal data. */
export class SourceError extends Error {
  readonly source: string
  readonly reason: SourceFailure
  readonly problem: SourceProblem | undefined
  readonly sent: boolean
  readonly fault: Fault
  readonly retryAfterMs: number | undefined

  constructor(
    source: string,
    reason: SourceFailure,
    {
      problem,
      sent = true,
      fault = mayBeOfOnePerson(problem) ? 'request' : 'source',
      retryAfterMs,
    }: SourceErrorOptions = {},
  ) {
    super(`${source}: ${reason}`)
    this.name = 'SourceError'
    this.source = source
    this.reason = reason
    this.problem = problem
    this.sent = sent
    this.fault = fault
    this.retryAfterMs = retryAfterMs
  }
}

/** A request to a vendor. The host comes from the settings only. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST'
  /** Below the base URL, with a leading slash. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
}

/** `body` is undefined when a reply with a status other than 2xx was not JSON. */
export type HttpReply = { readonly status: number; readonly body: unknown }

export type Send = (
  request: HttpRequest,
  call: Pick<Call, 'signal' | 'onRetryAfter' | 'onReply' | 'traceparent'>,
) => Promise<HttpReply>

/** The dependencies of a vendor. */
export type VendorDeps = { readonly send: Send; readonly now?: () => Date }

/** What every vendor's folder exports as `create`. */
export type CreateSource<S extends Settings> = (settings: ValuesOf<S>, deps: VendorDeps) => Source
