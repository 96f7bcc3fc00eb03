import type { Role } from '../contract/role.ts'
import type { Database } from '../database/database.ts'
import { defineTable, type TableOf } from '../database/define-table.ts'

type NewIdentity = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly at: number
  /** Keyed hash of the identity and its account. */
  readonly mac?: Uint8Array
}

/** Accounts of single sign-on. */
export const identityTable = defineTable({
  reads: (database) => {
    const find = database.prepare('SELECT account, mac FROM account_identities WHERE id = $1')
    return {
      /** The name of the account of an identity. Without a hash if 0.3.0 made it. */
      find: async (id: string) => {
        const row = await find.get(id)
        return row && { account: String(row.account), mac: (row.mac as Uint8Array | null) ?? undefined }
      },
    }
  },
  writes: (database) => ({
    /** Creates the account without a password. False if the name or the identity has an account already. */
    create: (identity: NewIdentity) => database.transaction((tx) => createIdentity(tx, identity)),
    bind: async (id: string, mac: Uint8Array) =>
      void (await database.prepare('UPDATE account_identities SET mac = $2 WHERE id = $1').run(id, mac)),
  }),
})
export type IdentityTable = TableOf<typeof identityTable>

async function createIdentity(tx: Database, { id, name, role, at, mac }: NewIdentity): Promise<boolean> {
  const identity = await tx
    .prepare(
      'INSERT INTO account_identities (id, account, created_at, mac) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    )
    .run(id, name, at, mac ?? null)
  if (identity === 0) return false
  const account = await tx
    .prepare(
      "INSERT INTO accounts (name, role, password, created_at, last_seen_at) VALUES ($1, $2, '', $3, NULL) ON CONFLICT (name) DO NOTHING",
    )
    .run(name, role, at)
  if (account === 0) await tx.prepare('DELETE FROM account_identities WHERE id = $1').run(id)
  return account > 0
}
