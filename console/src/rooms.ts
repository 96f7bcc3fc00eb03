import type { ComponentType } from 'preact'
import type { Role } from '../../src/contract/role.ts'
import { Account } from './rooms/account.tsx'
import { Audit } from './rooms/audit.tsx'
import { Catalogue } from './rooms/catalogue.tsx'
import { Keys } from './rooms/keys.tsx'
import { Overview } from './rooms/overview.tsx'
import { People } from './rooms/people.tsx'
import { Records } from './rooms/records.tsx'
import { Settings } from './rooms/settings.tsx'
import { Sources } from './rooms/sources.tsx'
import { TryIt } from './rooms/try-it.tsx'

export type Room = {
  /** As in the address. */
  readonly name: string
  readonly title: string
  readonly Body: ComponentType<{ rest: string }>
  readonly isForOwners?: boolean
}

export const ROOMS: readonly Room[] = [
  { name: 'overview', title: 'Overview', Body: Overview },
  { name: 'try', title: 'Try it', Body: TryIt },
  { name: 'keys', title: 'Keys', Body: Keys },
  { name: 'audit', title: 'Audit', Body: Audit },
  { name: 'catalogue', title: 'Catalogue', Body: Catalogue },
  { name: 'sources', title: 'Sources', Body: Sources },
  { name: 'records', title: 'Records', Body: Records },
  { name: 'settings', title: 'Settings', Body: Settings },
  { name: 'people', title: 'People', Body: People, isForOwners: true },
]

const ACCOUNT: Room = { name: 'account', title: 'Your account', Body: Account }

export const roomsFor = (role: Role) => ROOMS.filter(({ isForOwners }) => !isForOwners || role === 'owner')

/** An address that leads nowhere leads to the overview. */
export const findRoom = (name: string, role: Role): Room =>
  [...roomsFor(role), ACCOUNT].find((room) => room.name === name) ?? (ROOMS[0] as Room)
