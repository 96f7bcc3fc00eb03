import type { Database, Row } from '../database/database.ts'
import { deleteSome } from '../database/delete-some.ts'

type ReviewState = 'pending' | 'accepted' | 'rejected' | 'withdrawn'

/** Lists of a vendor that may be wrong and wait for a review. */
export type Proposal = {
  readonly source: string
  readonly at: number
  /** Equal for equal lists, regardless of their date. */
  readonly fingerprint: string
  /** Why they need a review, a sentence each. */
  readonly doubts: readonly string[]
  /** The lists as JSON. */
  readonly content: string
}
type ReviewRow = Proposal & { readonly id: number }
export type ReviewHead = Omit<ReviewRow, 'content'>

export type Raised = {
  readonly id: number
  /** rejected: these lists were rejected before, and are not proposed again. */
  readonly state: 'pending' | 'rejected'
  readonly isNew: boolean
}

type Decision = {
  readonly id: number
  readonly state: Exclude<ReviewState, 'pending'>
  readonly at: number
  readonly by: string
}

export type ReviewTable = {
  /** Replaces the pending proposal of the same vendor. A known proposal is not stored again. */
  readonly raise: (proposal: Proposal) => Promise<Raised>
  /** Pending proposals, oldest first. */
  readonly list: () => Promise<ReviewHead[]>
  /** Undefined when it is not pending. */
  readonly find: (id: number) => Promise<ReviewRow | undefined>
  /** False when it is no longer pending. */
  readonly decide: (decision: Decision) => Promise<boolean>
  /** The vendor has sent lists that need no review, so the pending ones are outdated. */
  readonly withdraw: (source: string, at: number) => Promise<void>
  /** Deletes some of the proposals that were withdrawn before a time; see delete-some.ts. */
  readonly deleteExpired: (before: number) => Promise<number>
}

const HEAD = 'id, source, at, fingerprint, doubts'
const DECIDE = `UPDATE catalogue_reviews SET state = $1, decided_at = $2, decided_by = $3, content = ''
  WHERE state = 'pending'`

export function createReviewTable(database: Database): ReviewTable {
  const list = database.prepare(`SELECT ${HEAD} FROM catalogue_reviews WHERE state = 'pending' ORDER BY id`)
  const find = database.prepare(
    `SELECT ${HEAD}, content FROM catalogue_reviews WHERE id = $1 AND state = 'pending'`,
  )
  const decide = database.prepare(`${DECIDE} AND id = $4`)
  const withdraw = database.prepare(`${DECIDE} AND source = $4`)
  return {
    raise: (proposal) => database.transaction((tx) => raiseInTx(tx, proposal)),
    list: async () => (await list.all()).map(toHead),
    find: async (id) => {
      const row = await find.get(id)
      return row && { ...toHead(row), content: String(row.content) }
    },
    decide: async ({ id, state, at, by }) => (await decide.run(state, at, by, id)) > 0,
    withdraw: async (source, at) => {
      await withdraw.run('withdrawn', at, null, source)
    },
    // The last one stays, so that no id is used twice.
    deleteExpired: (before) =>
      deleteSome(
        database,
        'catalogue_reviews',
        "state = 'withdrawn' AND decided_at < $1 AND id < (SELECT MAX(id) FROM catalogue_reviews)",
        before,
      ),
  }
}

async function raiseInTx(
  tx: Database,
  { source, at, fingerprint, doubts, content }: Proposal,
): Promise<Raised> {
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
    .prepare(
      `INSERT INTO catalogue_reviews (${HEAD}, content, state) VALUES ($1, $2, $3, $4, $5, $6, 'pending')`,
    )
    .run(id, source, at, fingerprint, JSON.stringify(doubts), content)
  return { id, state: 'pending', isNew: true }
}

const toHead = (row: Row): ReviewHead => ({
  id: Number(row.id),
  source: String(row.source),
  at: Number(row.at),
  fingerprint: String(row.fingerprint),
  doubts: JSON.parse(String(row.doubts)) as string[],
})
