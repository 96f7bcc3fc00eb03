import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'

/** A source that was asked and answered. "No such record" is an answer, not a failure. */
export type Answer<T> = { found: true; record: T } | { found: false }

export type NinAsk = { readonly nin: string; readonly phone: string }
export type BvnAsk = { readonly bvn: string; readonly phone: string }

/** What goes along with every question: when to give up, and the reference of the verification. */
export type Call = { readonly signal: AbortSignal; readonly reference: string }

/** Each ability is optional: a source offers what it can. Phones are ten-digit cores. */
export type Source = {
  readonly name: string
  /** Asked over the network: what is asked there is audited before. */
  readonly isOutside?: boolean
  readonly findNin?: (ask: NinAsk, call: Call) => Promise<Answer<NinRecord>>
  readonly findBvn?: (ask: BvnAsk, call: Call) => Promise<Answer<BvnRecord>>
}

export const SOURCE_FAILURES = ['unreachable', 'timeout', 'bad_response', 'refused', 'throttled'] as const
export type SourceFailure = (typeof SOURCE_FAILURES)[number]

/** The source could not answer. Its text is ours, never the vendor's: vendors put people into error messages. */
export class SourceError extends Error {
  readonly source: string
  readonly reason: SourceFailure

  constructor(source: string, reason: SourceFailure) {
    super(`${source}: ${reason}`)
    this.name = 'SourceError'
    this.source = source
    this.reason = reason
  }
}
