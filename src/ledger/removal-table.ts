import { steadyNow } from '../contract/time.ts'
import type { Database } from '../database/database.ts'

/** An account or a webhook endpoint that was removed. */
type Removal = {
  readonly kind: 'account' | 'endpoint'
  /** The name of the account, or the id of the endpoint. */
  readonly id: string
  readonly createdAt: number
  readonly removedAt: number
}

export type RemovalTable = { readonly list: () => Promise<Removal[]> }

export function createRemovalTable(database: Database): RemovalTable {
  const list = database.prepare(
    'SELECT kind, id, created_at, removed_at FROM removed_access ORDER BY removed_at, kind, id',
  )
  return {
    list: async () =>
      (await list.all()).map((row) => ({
        kind: row.kind as Removal['kind'],
        id: String(row.id),
        createdAt: Number(row.created_at),
        removedAt: Number(row.removed_at),
      })),
  }
}

/** In the transaction that removes it. */
export async function noteRemoval(tx: Database, kind: Removal['kind'], id: string): Promise<void> {
  const from =
    kind === 'account'
      ? 'name AS id, created_at FROM accounts WHERE name'
      : 'id, created_at FROM webhook_endpoints WHERE id'
  await tx
    .prepare(
      `INSERT INTO removed_access (kind, id, created_at, removed_at)
       SELECT CAST($1 AS TEXT), removed.id, removed.created_at, CAST($3 AS BIGINT) FROM (SELECT ${from} = $2) AS removed
       WHERE true ON CONFLICT (kind, id, created_at) DO NOTHING`,
    )
    .run(kind, id, steadyNow())
}
