import { steadyNow } from '../contract/time.ts'
import type { Database } from '../database/database.ts'
import {
  defineColumns,
  defineTable,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'

/** An account or a webhook endpoint that was removed. */
const REMOVAL = defineColumns({
  kind: text<'account' | 'endpoint'>(),
  /** The name of the account, or the id of the endpoint. */
  id: text(),
  createdAt: number(),
  removedAt: number(),
})

export const removalTable = defineTable({
  reads: (database) => {
    const list = database.prepare(`SELECT ${REMOVAL.names} FROM removed_access ORDER BY removed_at, kind, id`)
    return { list: async () => (await list.all()).map(REMOVAL.decode) }
  },
})

export type RemovalTable = TableOf<typeof removalTable>

/** In the transaction that removes it. */
export async function noteRemoval(
  tx: Database,
  kind: RowOf<typeof REMOVAL>['kind'],
  id: string,
): Promise<void> {
  const from =
    kind === 'account'
      ? 'name AS id, created_at FROM accounts WHERE name'
      : 'id, created_at FROM webhook_endpoints WHERE id'
  await tx
    .prepare(
      `INSERT INTO removed_access (${REMOVAL.names})
       SELECT CAST($1 AS TEXT), removed.id, removed.created_at, CAST($3 AS BIGINT) FROM (SELECT ${from} = $2) AS removed
       WHERE true ON CONFLICT (kind, id, created_at) DO NOTHING`,
    )
    .run(kind, id, steadyNow())
}
