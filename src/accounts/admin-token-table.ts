import type { Role } from '../contract/role.ts'
import type { Database, Row } from '../database/database.ts'

export type AdminTokenRow = {
  readonly id: string
  readonly name: string
  readonly hash: Uint8Array
  readonly role: Role
  /** Addresses and networks it may be used from. Undefined: any. */
  readonly allowedIps: readonly string[] | undefined
  /** The account that created it, or `command line`. */
  readonly madeBy: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | undefined
  readonly lastUsedAt: number | undefined
}

/** Tokens of the admin API. Ended ones stay, so that their names can be found. */
export type AdminTokenTable = {
  readonly insert: (row: AdminTokenRow) => Promise<void>
  readonly find: (id: string) => Promise<AdminTokenRow | undefined>
  /** Newest first. */
  readonly list: () => Promise<AdminTokenRow[]>
  /** False when it does not exist or was revoked before. */
  readonly revoke: (id: string, at: number) => Promise<boolean>
  readonly touch: (id: string, at: number) => Promise<void>
}

/** Listed: PostgreSQL fails a prepared `SELECT *` when another node adds a column. */
const COLUMNS = 'id, name, hash, role, allowed_ips, made_by, created_at, expires_at, revoked_at, last_used_at'

export function createAdminTokenTable(database: Database): AdminTokenTable {
  const insert = database.prepare(
    `INSERT INTO admin_tokens (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
  )
  const find = database.prepare(`SELECT ${COLUMNS} FROM admin_tokens WHERE id = $1`)
  const list = database.prepare(`SELECT ${COLUMNS} FROM admin_tokens ORDER BY created_at DESC, id`)
  const revoke = database.prepare(
    'UPDATE admin_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL',
  )
  const touch = database.prepare('UPDATE admin_tokens SET last_used_at = $2 WHERE id = $1')
  return {
    insert: async (row) => {
      await insert.run(
        row.id,
        row.name,
        row.hash,
        row.role,
        row.allowedIps?.join(',') ?? null,
        row.madeBy,
        row.createdAt,
        row.expiresAt,
        row.revokedAt ?? null,
        row.lastUsedAt ?? null,
      )
    },
    find: async (id) => {
      const row = await find.get(id)
      return row && toAdminTokenRow(row)
    },
    list: async () => (await list.all()).map(toAdminTokenRow),
    revoke: async (id, at) => (await revoke.run(id, at)) > 0,
    touch: async (id, at) => {
      await touch.run(id, at)
    },
  }
}

const toAdminTokenRow = (row: Row): AdminTokenRow => ({
  id: String(row.id),
  name: String(row.name),
  hash: row.hash as Uint8Array,
  role: row.role as Role,
  allowedIps: row.allowed_ips === null ? undefined : String(row.allowed_ips).split(','),
  madeBy: String(row.made_by),
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  revokedAt: row.revoked_at === null ? undefined : Number(row.revoked_at),
  lastUsedAt: row.last_used_at === null ? undefined : Number(row.last_used_at),
})
