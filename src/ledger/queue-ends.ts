import type { Database } from '../database/database.ts'
import type { QueueEnd, QueueGroups } from './queue-change.ts'
import { addToCounts } from './queue-counts.ts'

/** Every end of a verification passes here, in the transaction in which it ends. The counts are locked before. */
export async function recordEnds(
  tx: Database,
  groups: QueueGroups,
  ends: readonly QueueEnd[],
): Promise<void> {
  await addToCounts(tx, ends, -1)
  await groups.end(tx, ends)
}
