import type { Database } from '../database/database.ts'
import { endBatchRows, toRowEnd } from './batch-end.ts'
import { addToCounts } from './queue-counts.ts'
import type { Lane } from './queue-rows.ts'

/** A verification that has ended: answered, expired, cancelled or erased. */
export type QueueEnd = {
  readonly reference: string
  readonly lineage: string
  readonly lane: Lane
  readonly batch: string | null
  readonly outcome: string
}

/** Every end of a verification passes here, in the transaction in which it ends. The counts are locked before. */
export async function recordEnds(tx: Database, ends: readonly QueueEnd[]): Promise<void> {
  await addToCounts(tx, ends, -1)
  const rows = ends.flatMap(({ batch, outcome }) =>
    batch === null ? [] : [{ batch, end: toRowEnd(outcome) }],
  )
  const groups = Map.groupBy(rows, ({ batch, end }) => `${batch} ${end}`)
  // In one order, so that two transactions do not wait for each other.
  for (const [, group] of [...groups].sort())
    if (group[0]) await endBatchRows(tx, group[0].batch, group[0].end, group.length)
}
