import type { Context } from '../context/context.ts'
import type { Addresses } from '../http/address.ts'
import type { App } from '../http/app.ts'
import type { Authentication } from './authentication.ts'
import type { ChainChecks } from './chain-check.ts'
import type { OverviewCache } from './overview-stream.ts'
import type { RecordCounter } from './record-counter.ts'

/** What the routes of the console work with. */
export type AdminDeps = {
  readonly context: Context
  /** The API itself, for trying it in the same process. */
  readonly api: App
  readonly authentication: Authentication
  readonly addresses: Addresses
  readonly overviewCache: OverviewCache
  /** The readings of the whole audit log. */
  readonly checks: ChainChecks
  /** How many records there are. */
  readonly counter: RecordCounter
}
