import type { ComponentType } from 'preact'
import type { Role } from '../../src/contract/role.ts'

type Body = ComponentType<{ rest: string }>

/** A page. Its code is loaded when it is first opened. */
export type Page = {
  /** The hash of the URL. */
  readonly name: string
  readonly title: string
  readonly load: () => Promise<Body>
  readonly isForOwners?: boolean
}

type Group = { readonly name: string; readonly title: string; readonly pages: readonly Page[] }

/** The navigation. A new page has a line here. */
const GROUPS: readonly Group[] = [
  {
    name: 'activity',
    title: 'Activity',
    pages: [
      {
        name: 'overview',
        title: 'Overview',
        load: async () => (await import('./pages/overview/overview.tsx')).Overview,
      },
      { name: 'try', title: 'Try it', load: async () => (await import('./pages/try-it/try-it.tsx')).TryIt },
      {
        name: 'batches',
        title: 'Batches',
        load: async () => (await import('./pages/batches/batches.tsx')).Batches,
      },
      {
        name: 'requests',
        title: 'Requests',
        load: async () => (await import('./pages/requests/requests.tsx')).Requests,
      },
      { name: 'audit', title: 'Audit', load: async () => (await import('./pages/audit/audit.tsx')).Audit },
    ],
  },
  {
    name: 'access',
    title: 'Access',
    pages: [
      { name: 'keys', title: 'Keys', load: async () => (await import('./pages/keys/keys.tsx')).Keys },
      {
        name: 'webhooks',
        title: 'Webhooks',
        load: async () => (await import('./pages/webhooks/webhooks.tsx')).Webhooks,
      },
      {
        name: 'accounts',
        title: 'Accounts',
        load: async () => (await import('./pages/accounts/accounts.tsx')).Accounts,
        isForOwners: true,
      },
      {
        name: 'tokens',
        title: 'Tokens',
        load: async () => (await import('./pages/tokens/tokens.tsx')).Tokens,
        isForOwners: true,
      },
    ],
  },
  {
    name: 'data',
    title: 'Data',
    pages: [
      {
        name: 'records',
        title: 'Records',
        load: async () => (await import('./pages/records/records.tsx')).Records,
      },
      {
        name: 'people',
        title: 'People',
        load: async () => (await import('./pages/people/people.tsx')).People,
      },
      {
        name: 'catalogue',
        title: 'Catalogue',
        load: async () => (await import('./pages/catalogue/catalogue.tsx')).Catalogue,
      },
    ],
  },
  {
    name: 'system',
    title: 'System',
    pages: [
      {
        name: 'sources',
        title: 'Sources',
        load: async () => (await import('./pages/sources/sources.tsx')).Sources,
      },
      {
        name: 'incidents',
        title: 'Incidents',
        load: async () => (await import('./pages/incidents/incidents.tsx')).Incidents,
      },
      {
        name: 'storage',
        title: 'Storage',
        load: async () => (await import('./pages/storage/storage.tsx')).Storage,
      },
      {
        name: 'settings',
        title: 'Settings',
        load: async () => (await import('./pages/settings/settings.tsx')).Settings,
      },
    ],
  },
]

const ACCOUNT: Page = {
  name: 'account',
  title: 'Your account',
  load: async () => (await import('./pages/account/account.tsx')).Account,
}
const NOT_FOUND: Page = {
  name: 'notFound',
  title: 'Page not found',
  load: async () => (await import('./pages/not-found/not-found.tsx')).NotFound,
}

/** The groups with the pages that this role may open. */
export const groupsFor = (role: Role): readonly Group[] =>
  GROUPS.map((group) => ({
    ...group,
    pages: group.pages.filter(({ isForOwners }) => !isForOwners || role === 'owner'),
  }))

/** The page "not found" if the name is unknown or the role too low. */
export const findPage = (name: string, role: Role): Page =>
  [...groupsFor(role).flatMap(({ pages }) => pages), ACCOUNT].find((page) => page.name === name) ?? NOT_FOUND
