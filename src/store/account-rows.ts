import type { Role } from '../contract/role.ts'
import type { Row } from './database.ts'

export type AccountRow = {
  readonly name: string
  readonly role: Role
  /** The hash and how it was made. */
  readonly password: string
  readonly createdAt: number
  readonly lastSeenAt: number | undefined
}

/** A session that has not ended, with the present role of its account. */
export type SessionRow = {
  readonly account: string
  readonly role: Role
  readonly createdAt: number
  readonly seenAt: number
}

export type InvitationRow = {
  readonly id: Uint8Array
  readonly role: Role
  /** The account whose password it resets; undefined when it creates an account. */
  readonly account: string | undefined
  readonly madeBy: string
  readonly createdAt: number
  readonly expiresAt: number
}

export const toAccount = (row: Row | undefined): AccountRow | undefined =>
  row && {
    name: String(row.name),
    role: row.role as Role,
    password: String(row.password),
    createdAt: Number(row.created_at),
    lastSeenAt: row.last_seen_at === null ? undefined : Number(row.last_seen_at),
  }

export const toSession = (row: Row | undefined): SessionRow | undefined =>
  row && {
    account: String(row.account),
    role: row.role as Role,
    createdAt: Number(row.created_at),
    seenAt: Number(row.seen_at),
  }

export const toInvitation = (row: Row | undefined): InvitationRow | undefined =>
  row && {
    id: row.id as Uint8Array,
    role: row.role as Role,
    account: row.account === null ? undefined : String(row.account),
    madeBy: String(row.made_by),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
  }
