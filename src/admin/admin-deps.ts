import type { LinkDeps } from '../accounts/accounts.ts'
import type { CheckAdminToken } from '../accounts/admin-tokens.ts'
import type { Context } from '../context/context.ts'
import type { Store } from '../context/store.ts'
import type { Actor } from '../contract/role.ts'
import type { HealthMonitor } from '../health/health-monitor.ts'
import type { Addresses } from '../http/address.ts'
import type { App } from '../http/app.ts'
import type { ArchiveReads } from './archive-reads.ts'
import type { Authentication } from './authentication.ts'
import type { ChainChecks } from './chain-check.ts'
import type { Charts } from './charts.ts'
import type { OverviewCache } from './overview-cache.ts'
import type { Overview } from './overview-figures.ts'
import type { RecordCounter } from './record-counter.ts'
import type { Searches } from './searches.ts'

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
  readonly health: HealthMonitor
  /** Verification of the whole audit log. */
  readonly checks: ChainChecks
  readonly counter: RecordCounter
  readonly archives: ArchiveReads<Store>
  readonly searches: Searches
}

/** What a change of accounts needs, made by the signed-in account. */
export const toAccountDeps = ({ context }: AdminDeps, { name }: Actor): LinkDeps => ({
  store: context.store,
  keyring: context.keyring(),
  audit: context.audit,
  by: name,
})
