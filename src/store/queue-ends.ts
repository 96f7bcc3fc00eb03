import type { Database } from './database.ts'
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
export async function recordEnds(inside: Database, ends: readonly QueueEnd[]): Promise<void> {
  await addToCounts(inside, ends, -1)
}
