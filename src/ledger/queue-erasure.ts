import type { Database } from '../database/database.ts'
import type { Reader } from '../database/define-table.ts'
import type { QueueEnd, QueueGroups } from './queue-change.ts'
import { lockCounts } from './queue-counts.ts'
import { recordEnds } from './queue-ends.ts'
import { packValues, toUnpack } from './queue-rows.ts'

/** A verification that an erasure has ended. */
export type EndedQueued = {
  readonly reference: string
  readonly keyId: string
  readonly mode: string
  readonly operation: string
}

/** How many questions and answers, and the verifications that were still waiting. */
export type ErasedQueued = { readonly queued: number; readonly ended: readonly EndedQueued[] }

/** By the indexes on the expiry and the subject. */
const PENDING = 'due_at IS NOT NULL AND expires_at >= 0 AND subject = $1'
const ANSWERED = 'due_at IS NULL AND expires_at >= 0 AND subject = $1 AND answer IS NOT NULL'

export async function countQueued(database: Reader, subject: Uint8Array): Promise<number> {
  const count = async (where: string) => {
    const row = await database
      .prepare(`SELECT COUNT(*) AS found FROM queued_verifications WHERE ${where}`)
      .get(subject)
    return Number(row?.found)
  }
  return (await count(PENDING)) + (await count(ANSWERED))
}

/** Erases questions and answers about a person. An attempt that runs loses its lease, so its answer is not stored. */
export async function eraseQueued(
  tx: Database,
  groups: QueueGroups,
  subject: Uint8Array,
): Promise<ErasedQueued> {
  const lock = tx.dialect === 'postgres' ? 'FOR UPDATE' : ''
  const pending = await tx
    .prepare(
      `SELECT reference, key_id, lineage, mode, operation, lane, batch FROM queued_verifications
       WHERE ${PENDING} ORDER BY reference ${lock}`,
    )
    .all(subject)
  const ends = pending.map((row) => ({ ...row, outcome: 'erased' }) as unknown as QueueEnd)
  await lockCounts(tx, ends)
  const { rows, text } = toUnpack(tx)
  await tx
    .prepare(
      `UPDATE queued_verifications AS queued SET state = 'gone', outcome = 'erased', question = NULL, due_at = NULL, lease = NULL
       FROM ${rows('$1')} WHERE queued.reference = ${text(0)}`,
    )
    .run(packValues(pending.map(({ reference }) => [String(reference)])))
  await recordEnds(tx, groups, ends)
  const answered = await eraseAnswered(tx, subject)
  const ended = pending.map((row) => ({
    reference: String(row.reference),
    keyId: String(row.key_id),
    mode: String(row.mode),
    operation: String(row.operation),
  }))
  return { queued: pending.length + answered, ended }
}

/** Returns how many answers there were. */
export const eraseAnswered = (tx: Database, subject: Uint8Array): Promise<number> =>
  tx.prepare(`UPDATE queued_verifications SET state = 'gone', answer = NULL WHERE ${ANSWERED}`).run(subject)
