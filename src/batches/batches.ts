import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import type { BatchView } from '../contract/batch.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { Batch } from '../ledger/batch.ts'
import type { Log } from '../telemetry/log.ts'
import type { QueueDeps } from '../verification/queue/queue-deps.ts'
import type { ResultType } from './accepted-type.ts'
import type { BatchDeps } from './batch-deps.ts'
import { startBatchFeeder } from './batch-feeder.ts'
import { isBatchId } from './batch-id.ts'
import { type Reader, writeResults } from './batch-results.ts'
import type { RowRefusal } from './batch-row.ts'
import type { BatchTable } from './batch-table.ts'
import { toBatchView } from './batch-view.ts'
import type { IncomingBatch } from './incoming-batch.ts'
import { type ReceivedBatch, receiveBatch } from './receive-batch.ts'
import { openRowLabel } from './seal-label.ts'
import type { BatchSettings } from './settings.ts'

/** The key or the account that acts, for the audit log. */
type Actor = Pick<AuditEntry, 'key_id' | 'mode' | 'detail'>

/** Files of verifications. */
export type Batches = {
  readonly receive: (incoming: IncomingBatch) => Promise<ReceivedBatch>
  /** Of one key only, if a lineage is given. */
  readonly find: (id: string, lineage?: string) => Promise<Batch | undefined>
  /** The latest first. */
  readonly list: (before: number, most: number) => Promise<Batch[]>
  readonly toView: (batch: Batch) => BatchView
  readonly listRefusals: (id: string) => AsyncIterable<readonly RowRefusal[]>
  /** The audit row is written before the first result is read. */
  readonly readResults: (
    id: string,
    type: ResultType,
    actor: Actor,
    reader: Reader,
  ) => Promise<AsyncIterable<string>>
  /** Cancels the rows that have not begun. A batch that has ended is not changed. */
  readonly stop: (batch: Batch, actor: Actor) => Promise<void>
  readonly forget: () => Promise<number>
  readonly close: () => Promise<void>
}

const ROWS_AT_ONCE = 500
/** Bodies that one process reads at the same time. Each may be in memory: 16 MiB. */
const MOST_RECEIVED_AT_ONCE = 4
/** Of one key, so that its slow bodies do not keep out other keys. */
const MOST_OF_A_KEY = 2

type Deps = {
  readonly store: { readonly batches: BatchTable }
  readonly audit: AuditLog
  readonly queue: QueueDeps
  readonly log: Log
}

/** Batches, with the feeder that moves their rows to the queue. */
export const openBatches = (
  config: BatchSettings & Pick<BatchDeps, 'purposes'>,
  { store, audit, queue, log }: Deps,
): Batches =>
  createBatches({
    table: store.batches,
    audit,
    queue,
    subjectKey: queue.keyring.subject,
    rowsPerMinute: config.batchRate,
    mostBatches: config.batchesPerKey,
    purposes: config.purposes,
    onFailure: log.failure,
  })

function createBatches(deps: BatchDeps): Batches {
  const { table, audit, queue, rowsPerMinute } = deps
  const { keepMs } = queue.settings
  const feeder = startBatchFeeder(deps)
  /** The keys whose bodies are read at the moment. */
  const receiving: string[] = []
  return {
    receive: async (incoming) => {
      const { lineage } = incoming.caller
      const ofKey = receiving.filter((each) => each === lineage).length
      if (receiving.length >= MOST_RECEIVED_AT_ONCE || ofKey >= MOST_OF_A_KEY)
        throw new AppError('overloaded')
      receiving.push(lineage)
      try {
        return await receiveBatch(deps, incoming)
      } finally {
        receiving.splice(receiving.indexOf(lineage), 1)
        void feeder.wake()
      }
    },
    find: async (id, lineage) => (isBatchId(id) ? table.find(id, lineage, keepMs, steadyNow()) : undefined),
    list: (before, most) => table.list(before, most, keepMs, steadyNow()),
    toView: (batch) => toBatchView(batch, { rowsPerMinute, keepMs }),
    listRefusals: (id) => listRefusals(deps, id),
    readResults: async (id, type, actor, reader) => {
      await audit.record([{ phase: 'batch_read', ...actor, request_reference: id, outcome: 'ok' }])
      return writeResults(deps, id, type, reader)
    },
    stop: async (batch, actor) => {
      if (batch.endedAt !== undefined) return
      // Refused if it was stopped before, or has ended meanwhile.
      await audit.recordChange({ kind: 'stop_batch', id: batch.id }, [
        { phase: 'batch_cancelled', ...actor, request_reference: batch.id, outcome: 'ok' },
      ])
      await feeder.wake()
    },
    forget: () => table.forget(keepMs, steadyNow()),
    close: feeder.close,
  }
}

async function* listRefusals(
  { table, queue: { keyring } }: BatchDeps,
  id: string,
): AsyncGenerator<readonly RowRefusal[]> {
  let line = 0
  for (;;) {
    const rows = await table.listRefusals(id, line, ROWS_AT_ONCE)
    if (rows.length === 0) return
    yield rows.flatMap(({ line, refusals, ...row }) => {
      const reference = openRowLabel(keyring, row)
      return (JSON.parse(refusals) as Pick<RowRefusal, 'field' | 'message'>[]).map((refusal) => ({
        ...{ line, reference, ...refusal },
      }))
    })
    line = rows.at(-1)?.line ?? line
  }
}
