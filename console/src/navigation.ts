import type { ComponentType } from 'preact'
import type { Role } from '../../src/contract/role.ts'
import type { shellTexts } from './texts/en/shell.ts'

type Body = ComponentType<{ rest: string }>

/** A page. Its code is loaded when it is first opened. */
export type Page = {
  /** The hash of the URL. */
  readonly name: keyof typeof shellTexts.pages
  readonly load: () => Promise<Body>
  readonly isForOwners?: boolean
}

type Group = { readonly name: keyof typeof shellTexts.groups; readonly pages: readonly Page[] }

/** The navigation. A new page has a line here and a title in texts/en/shell.ts. */
const GROUPS: readonly Group[] = [
  {
    name: 'activity',
    pages: [
      { name: 'overview', load: async () => (await import('./pages/overview.tsx')).Overview },
      { name: 'try', load: async () => (await import('./pages/try-it.tsx')).TryIt },
      { name: 'batches', load: async () => (await import('./pages/batches.tsx')).Batches },
      { name: 'requests', load: async () => (await import('./pages/requests.tsx')).Requests },
      { name: 'audit', load: async () => (await import('./pages/audit.tsx')).Audit },
    ],
  },
  {
    name: 'access',
    pages: [
      { name: 'keys', load: async () => (await import('./pages/keys.tsx')).Keys },
      { name: 'webhooks', load: async () => (await import('./pages/webhooks.tsx')).Webhooks },
      {
        name: 'accounts',
        load: async () => (await import('./pages/accounts.tsx')).Accounts,
        isForOwners: true,
      },
      { name: 'tokens', load: async () => (await import('./pages/tokens.tsx')).Tokens, isForOwners: true },
    ],
  },
  {
    name: 'data',
    pages: [
      { name: 'records', load: async () => (await import('./pages/records.tsx')).Records },
      { name: 'people', load: async () => (await import('./pages/people.tsx')).People },
      { name: 'catalogue', load: async () => (await import('./pages/catalogue.tsx')).Catalogue },
    ],
  },
  {
    name: 'system',
    pages: [
      { name: 'sources', load: async () => (await import('./pages/sources.tsx')).Sources },
      { name: 'storage', load: async () => (await import('./pages/storage.tsx')).Storage },
      { name: 'settings', load: async () => (await import('./pages/settings.tsx')).Settings },
    ],
  },
]

const ACCOUNT: Page = { name: 'account', load: async () => (await import('./pages/account.tsx')).Account }
const NOT_FOUND: Page = {
  name: 'notFound',
  load: async () => (await import('./pages/not-found.tsx')).NotFound,
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
