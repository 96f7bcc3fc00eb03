import type { Context } from '../context/context.ts'
import type { Addresses } from '../http/address.ts'
import type { App } from '../http/app.ts'
import type { ChainChecks } from './chain-check.ts'
import type { Overviews } from './events.ts'
import type { People } from './people.ts'
import type { RecordCounter } from './record-counter.ts'

/** What the routes of the console work with. */
export type AdminDeps = {
  readonly context: Context
  /** The API itself, for trying it in the same process. */
  readonly api: App
  readonly people: People
  readonly addresses: Addresses
  readonly overviews: Overviews
  /** The readings of the whole audit log. */
  readonly checks: ChainChecks
  /** How many records there are. */
  readonly counter: RecordCounter
}
