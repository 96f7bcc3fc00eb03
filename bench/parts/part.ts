import type { Checkout } from '../checkout.ts'
import type { Options } from '../options.ts'
import type { Figure } from '../rounds.ts'
import type { VendorResults } from './vendor.ts'

/** What every part needs. */
export type Bench = {
  readonly options: Options
  /** The checkout of --against. */
  readonly earlier: Checkout | undefined
  /** For temporary files; removed at the end. */
  readonly folder: string
  /** Whether the peers are installed. */
  readonly hasPeers: boolean
  /** Prints progress. */
  readonly progress: (line: string) => void
  /** Something left out or done differently, printed below the figures. */
  readonly note: (line: string) => void
}

export type Latency = {
  readonly name: string
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  /** Requests answered by 503, in all rounds. */
  readonly refused: number
}

/** Milliseconds from the start of the process until it is ready. */
export type Start = { readonly bundleMs: number; readonly checkoutMs: number }

/** Of the bundle, if nothing else is said. */
export type Memory = {
  readonly idleMb: number
  readonly checkoutIdleMb: number
  readonly requests: number
  readonly afterRequestsMb: number
  readonly connections: number
  readonly perConnectionKb: number
}

/** Everything that was measured. A part that did not run is absent. */
export type Results = {
  vendor?: VendorResults | undefined
  lookup?: readonly Figure[] | undefined
  verify?: readonly Figure[] | undefined
  slow?: readonly Figure[] | undefined
  workers?: readonly Figure[] | undefined
  latency?: readonly Latency[] | undefined
  /** Response times at a share of the capacity, in live mode. */
  capacity?: readonly Latency[] | undefined
  start?: Start | undefined
  memory?: Memory | undefined
}
