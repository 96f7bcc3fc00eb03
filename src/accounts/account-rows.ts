import type { Role } from '../contract/role.ts'
import { SIGN_IN_METHODS, type SignInMethod } from '../contract/role.ts'
import type { Row } from '../database/database.ts'

export type AccountRow = {
  readonly name: string
  readonly role: Role
  /** The hash and how it was made. */
  readonly password: string
  readonly createdAt: number
  readonly lastSeenAt: number | undefined
}

/** A session that has not ended, with the present role of its account. */
export type SessionRow = SessionDetails & {
  readonly id: Uint8Array
  readonly account: string
  readonly role: Role
  readonly createdAt: number
  readonly seenAt: number
  /** When its account last proved who it is: at the sign-in, or later. */
  readonly confirmedAt: number
  /** False for an account of single sign-on. */
  readonly hasPassword: boolean
}

/** Unknown in a session of an older node. */
export type SessionDetails = {
  readonly method: SignInMethod
  readonly address: string | undefined
  /** Such as `Firefox on Linux`. */
  readonly browser: string | undefined
  /** If that was not when the session was opened. */
  readonly confirmedAt?: number
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
    id: row.id as Uint8Array,
    account: String(row.account),
    role: row.role as Role,
    createdAt: Number(row.created_at),
    seenAt: Number(row.seen_at),
    confirmedAt: Number(row.confirmed_at ?? row.created_at),
    hasPassword: row.password !== '',
    method: SIGN_IN_METHODS.find((method) => method === row.method) ?? 'password',
    address: toOptional(row.address),
    browser: toOptional(row.browser),
  }

const toOptional = (value: unknown) => (typeof value === 'string' ? value : undefined)

export const toInvitation = (row: Row | undefined): InvitationRow | undefined =>
  row && {
    id: row.id as Uint8Array,
    role: row.role as Role,
    account: row.account === null ? undefined : String(row.account),
    madeBy: String(row.made_by),
    createdAt: Number(row.created_at),
    expiresAt: Number(row.expires_at),
  }
