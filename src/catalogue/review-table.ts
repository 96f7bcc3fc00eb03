import type { Database } from '../database/database.ts'
import {
  defineColumns,
  defineTable,
  json,
  number,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'

const HEAD_COLUMNS = {
  id: number(),
  source: text(),
  at: number(),
  /** Equal for equal lists, regardless of their date. */
  fingerprint: text(),
  /** Why they need a review, a sentence each. */
  doubts: json<readonly string[]>(),
}
const HEAD = defineColumns(HEAD_COLUMNS)
/** With the lists as JSON. */
const REVIEW = defineColumns({ ...HEAD_COLUMNS, content: text() })
export type ReviewHead = RowOf<typeof HEAD>
/** Lists of a vendor that may be wrong and wait for a review. */
export type Proposal = Omit<RowOf<typeof REVIEW>, 'id'>

export type Raised = {
  readonly id: number
  /** rejected: these lists were rejected before, and are not proposed again. */
  readonly state: 'pending' | 'rejected'
  readonly isNew: boolean
}

type Decision = {
  readonly id: number
  readonly state: 'accepted' | 'rejected' | 'withdrawn'
  readonly at: number
  readonly by: string
}

const DECIDE = `UPDATE catalogue_reviews SET state = $1, decided_at = $2, decided_by = $3, content = ''
  WHERE state = 'pending'`

export const reviewTable = defineTable({
  reads: (database) => {
    const list = database.prepare(
      `SELECT ${HEAD.names} FROM catalogue_reviews WHERE state = 'pending' ORDER BY id`,
    )
    const find = database.prepare(
      `SELECT ${REVIEW.names} FROM catalogue_reviews WHERE id = $1 AND state = 'pending'`,
    )
    return {
      /** Pending proposals, oldest first. */
      list: async () => (await list.all()).map(HEAD.decode),
      /** Undefined when it is not pending. */
      find: async (id: number) => REVIEW.decode(await find.get(id)),
    }
  },
  writes: (database) => {
    const decide = database.prepare(`${DECIDE} AND id = $4`)
    const withdraw = database.prepare(`${DECIDE} AND source = $4`)
    return {
      /** Replaces the pending proposal of the same vendor. A known proposal is not stored again. */
      raise: (proposal: Proposal) => database.transaction((tx) => raise(tx, proposal)),
      /** False when it is no longer pending. */
      decide: async ({ id, state, at, by }: Decision) => (await decide.run(state, at, by, id)) > 0,
      /** The vendor has sent lists that need no review, so the pending ones are outdated. */
      withdraw: async (source: string, at: number) =>
        void (await withdraw.run('withdrawn', at, null, source)),
      /** Deletes some of the proposals that were withdrawn before a time; see delete-some.ts. The last one stays, so that no id is used twice. */
      deleteExpired: (before: number) =>
        deleteSome(
          database,
          'catalogue_reviews',
          "state = 'withdrawn' AND decided_at < $1 AND id < (SELECT MAX(id) FROM catalogue_reviews)",
          before,
        ),
    }
  },
})
export type ReviewTable = TableOf<typeof reviewTable>

async function raise(tx: Database, proposal: Proposal): Promise<Raised> {
  const { source, at, fingerprint } = proposal
  await tx.lock('catalogue_reviews')
  const known = await tx
    .prepare(
      `SELECT id, state FROM catalogue_reviews
       WHERE source = $1 AND fingerprint = $2 AND state IN ('pending', 'rejected') ORDER BY id DESC LIMIT 1`,
    )
    .get(source, fingerprint)
  // Also when a rejected proposal is sent again: what the vendor proposed in between is outdated.
  if (known?.state !== 'pending')
    await tx.prepare(`${DECIDE} AND source = $4`).run('withdrawn', at, null, source)
  if (known) return { id: Number(known.id), state: known.state as Raised['state'], isNew: false }
  const last = await tx.prepare('SELECT COALESCE(MAX(id), 0) AS id FROM catalogue_reviews').get()
  const id = Number(last?.id ?? 0) + 1
  await tx
    .prepare(`INSERT INTO catalogue_reviews (${REVIEW.names}, state) VALUES (${REVIEW.places}, 'pending')`)
    .run(...REVIEW.encode({ id, ...proposal }))
  return { id, state: 'pending', isNew: true }
}
