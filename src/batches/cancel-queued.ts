import { steadyNow } from '../contract/time.ts'
import type { Batch } from '../ledger/batch.ts'
import type { BatchDeps } from './batch-deps.ts'

const ROWS_AT_ONCE = 100

/** Cancels the rows of a batch that are in the queue and have not begun, each with its audit row. */
export async function cancelQueued({ queue, audit }: BatchDeps, { id, lineage }: Batch): Promise<void> {
  const { table, settings, signals } = queue
  for (;;) {
    const rows = await table.listWaiting(id, ROWS_AT_ONCE, steadyNow())
    const cancelled = rows.map(async ({ reference, keyId, mode, operation, subject }) => {
      const about = { request_reference: reference, key_id: keyId, mode, operation }
      const entry = {
        ...about,
        subject: Buffer.from(subject).toString('hex'),
        phase: 'outcome',
        outcome: 'cancelled',
      }
      const change = { kind: 'cancel', reference, lineage, keepMs: settings.keepMs } as const
      const refusal = await audit.recordChange(change, [entry])
      if (!refusal) signals.end(reference, 'cancelled')
      return refusal
    })
    // What was refused has begun or ended meanwhile, and is not listed again.
    if ((await Promise.all(cancelled)).every((refusal) => refusal !== undefined)) return
  }
}
