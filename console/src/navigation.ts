import type { ComponentType } from 'preact'
import type { Role } from '../../src/contract/role.ts'
import { Account } from './pages/account.tsx'
import { Accounts } from './pages/accounts.tsx'
import { Audit } from './pages/audit.tsx'
import { Batches } from './pages/batches.tsx'
import { Catalogue } from './pages/catalogue.tsx'
import { Keys } from './pages/keys.tsx'
import { Overview } from './pages/overview.tsx'
import { Records } from './pages/records.tsx'
import { Settings } from './pages/settings.tsx'
import { Sources } from './pages/sources.tsx'
import { TryIt } from './pages/try-it.tsx'
import { Webhooks } from './pages/webhooks.tsx'

export type Page = {
  /** The hash of the URL. */
  readonly name: string
  readonly title: string
  readonly Body: ComponentType<{ rest: string }>
  readonly isForOwners?: boolean
}

const PAGES: readonly Page[] = [
  { name: 'overview', title: 'Overview', Body: Overview },
  { name: 'try', title: 'Try it', Body: TryIt },
  { name: 'batches', title: 'Batches', Body: Batches },
  { name: 'keys', title: 'Keys', Body: Keys },
  { name: 'webhooks', title: 'Webhooks', Body: Webhooks },
  { name: 'audit', title: 'Audit', Body: Audit },
  { name: 'catalogue', title: 'Catalogue', Body: Catalogue },
  { name: 'sources', title: 'Sources', Body: Sources },
  { name: 'records', title: 'Records', Body: Records },
  { name: 'settings', title: 'Settings', Body: Settings },
  { name: 'accounts', title: 'Accounts', Body: Accounts, isForOwners: true },
]

const ACCOUNT: Page = { name: 'account', title: 'Your account', Body: Account }

export const pagesFor = (role: Role) => PAGES.filter(({ isForOwners }) => !isForOwners || role === 'owner')

/** The overview if the name is unknown or the role too low. */
export const findPage = (name: string, role: Role): Page =>
  [...pagesFor(role), ACCOUNT].find((page) => page.name === name) ?? (PAGES[0] as Page)
