import type { Role } from '../contract/role.ts'
import {
  bytes,
  defineColumns,
  defineTable,
  list,
  number,
  optional,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'

const TOKEN = defineColumns({
  id: text(),
  name: text(),
  hash: bytes(),
  role: text<Role>(),
  /** Addresses and networks it may be used from. Undefined: any. */
  allowedIps: optional(list()),
  /** The account that created it, or `command line`. */
  madeBy: text(),
  createdAt: number(),
  expiresAt: number(),
  revokedAt: optional(number()),
  lastUsedAt: optional(number()),
})
export type AdminTokenRow = RowOf<typeof TOKEN>

/** Tokens of the admin API. Ended ones stay, so that their names can be found. */
export const adminTokenTable = defineTable({
  reads: (database) => {
    const find = database.prepare(`SELECT ${TOKEN.names} FROM admin_tokens WHERE id = $1`)
    const all = database.prepare(`SELECT ${TOKEN.names} FROM admin_tokens ORDER BY created_at DESC, id`)
    return {
      find: async (id: string) => TOKEN.decode(await find.get(id)),
      /** Newest first. */
      list: async () => (await all.all()).map(TOKEN.decode),
    }
  },
  writes: (database) => {
    const insert = database.prepare(`INSERT INTO admin_tokens (${TOKEN.names}) VALUES (${TOKEN.places})`)
    const revoke = database.prepare(
      'UPDATE admin_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL',
    )
    const touch = database.prepare('UPDATE admin_tokens SET last_used_at = $2 WHERE id = $1')
    return {
      insert: async (row: AdminTokenRow) => void (await insert.run(...TOKEN.encode(row))),
      /** False when it does not exist or was revoked before. */
      revoke: async (id: string, at: number) => (await revoke.run(id, at)) > 0,
      touch: async (id: string, at: number) => void (await touch.run(id, at)),
    }
  },
})
export type AdminTokenTable = TableOf<typeof adminTokenTable>
