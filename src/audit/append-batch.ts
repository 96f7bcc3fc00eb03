import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { Appended } from '../ledger/audit-batch.ts'
import type { AuditRow } from '../ledger/audit-row.ts'
import { type CommitCheck, packChecks, type Refusal } from '../ledger/commit-check.ts'
import type { Completion } from '../ledger/completion.ts'
import type { EncodedRows } from '../ledger/encoded-rows.ts'
import type { QueueChange, QueueRefusal } from '../ledger/queue-change.ts'
import type { AuditTable } from './audit-table.ts'
import type { AuditEntry } from './row.ts'
import { tallyRows } from './tally.ts'
import { wasCommitted } from './unknown-commit.ts'

/** A request that waits for its commit. */
export type Pending = {
  readonly entries: readonly AuditEntry[]
  readonly completion?: Completion | undefined
  readonly check?: CommitCheck | undefined
  readonly queue?: QueueChange | undefined
  readonly resolve: (refusal?: Refusal | QueueRefusal) => void
  readonly reject: (error: Error) => void
}

/** Writes the rows of a batch with its completions, checks, changes of the queue and tallies, in one commit. */
export async function appendBatch(
  table: AuditTable,
  batch: readonly Pending[],
  rows: readonly AuditRow[],
  encoded: EncodedRows,
): Promise<Omit<Appended, 'late'> & { readonly late: ReadonlySet<Pending | undefined> }> {
  const completing = batch.filter(({ completion }) => completion)
  const completions = completing.flatMap(({ completion }) => completion ?? [])
  const now = steadyNow()
  const checks = packChecks(
    batch.map(({ check }) => check),
    now,
  )
  const changes = batch.flatMap(({ queue }, position) => (queue ? [[position, queue] as const] : []))
  const last = rows.at(-1)
  const { refused, late } = await table
    .append(table.packRows(rows, encoded), completions, tallyRows(rows), checks, { now, changes })
    .catch(async (error): Promise<Appended> => {
      if (!last || !(await wasCommitted(table, last.chain, last, error))) throw error
      // Which completions were late is unknown then: all of these callers must ask again for the response.
      return { refused: [], late: completions.keys().toArray() }
    })
  return { refused, late: new Set(late.map((index) => completing[index])) }
}

/** Resolves the requests of a batch that is written. */
export function settleBatch(batch: readonly Pending[], late: ReadonlySet<Pending | undefined>): void {
  for (const pending of batch) {
    const { check, resolve, reject } = pending
    if (check?.guess?.isWrong) check.guess.attempt.counted = true
    // The lease ended and another request took the Idempotency-Key: the rows are written, but this response is not stored.
    if (late.has(pending)) reject(new AppError('idempotency_in_progress'))
    else resolve()
  }
}

/** Tells the refused ones, and returns the others. */
export function takeRefused(batch: readonly Pending[], refused: Appended['refused']): Pending[] {
  const refusals = new Map(refused)
  for (const [position, refusal] of refusals) batch[position]?.resolve(refusal)
  return batch.filter((_pending, position) => !refusals.has(position))
}
