import type { CheckAdminToken } from '../accounts/check-admin-token.ts'
import type { Context } from '../context/context.ts'
import type { Addresses } from '../http/address.ts'
import type { App } from '../http/app.ts'
import type { ArchiveReads } from './archive-reads.ts'
import type { Authentication } from './authentication.ts'
import type { ChainChecks } from './chain-check.ts'
import type { OverviewCache } from './overview-cache.ts'
import type { RecordCounter } from './record-counter.ts'
import type { Searches } from './searches.ts'
import type { Charts, Overview } from './shapes/overview.ts'

/** What the routes of the admin API need. */
export type AdminDeps = {
  readonly context: Context
  /** The public API, for calls from the page Try it. */
  readonly api: App
  readonly authentication: Authentication
  /** For requests with a token instead of a session. */
  readonly checkToken: CheckAdminToken
  readonly addresses: Addresses
  readonly overviewCache: OverviewCache<Overview>
  readonly chartsCache: OverviewCache<Charts>
  /** Verification of the whole audit log. */
  readonly checks: ChainChecks
  readonly counter: RecordCounter
  readonly archives: ArchiveReads
  readonly searches: Searches
}
