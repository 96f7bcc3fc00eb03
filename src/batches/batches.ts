import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import type { BatchView } from '../contract/batch.ts'
import { MINUTE_MS, steadyNow, toIsoTime } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import { type Batch, countOpenRows } from '../ledger/batch.ts'
import type { Log } from '../telemetry/log.ts'
import type { QueueDeps } from '../verification/queue/open-queue.ts'
import { toLifeMs } from '../verification/queue/verify-later.ts'
import type { BatchDeps } from './batch-deps.ts'
import { type Reader, type ResultType, writeResults } from './batch-results.ts'
import type { RowRefusal } from './batch-row.ts'
import type { BatchTable } from './batch-table.ts'
import { isBatchId, type ReceivedBatch, receiveBatch } from './receive-batch.ts'
import { type IncomingBatch, openRowLabel } from './seal-row.ts'
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
  readonly deleteExpired: () => Promise<number>
  readonly close: () => Promise<void>
}

const REFUSALS_AT_ONCE = 500
/** Bodies that one process reads at the same time. Each may be in memory: 16 MiB. */
const MAX_RECEIVED_AT_ONCE = 4
/** Of one key, so that its slow bodies do not keep out other keys. */
const MAX_RECEIVED_OF_A_KEY = 2

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
      if (receiving.length >= MAX_RECEIVED_AT_ONCE || ofKey >= MAX_RECEIVED_OF_A_KEY)
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
    deleteExpired: () => table.deleteExpired(keepMs, steadyNow()),
    close: feeder.close,
  }
}

async function* listRefusals(
  { table, queue: { keyring } }: BatchDeps,
  id: string,
): AsyncGenerator<readonly RowRefusal[]> {
  let line = 0
  for (;;) {
    const rows = await table.listRefusals(id, line, REFUSALS_AT_ONCE)
    if (rows.length === 0) return
    yield rows.flatMap(({ line, refusals, ...row }) => {
      const reference = openRowLabel(keyring, row)
      return (JSON.parse(refusals) as Pick<RowRefusal, 'field' | 'message'>[]).map((refusal) => ({
        line,
        reference,
        ...refusal,
      }))
    })
    line = rows.at(-1)?.line ?? line
  }
}

type ViewOptions = { readonly rowsPerMinute: number; readonly keepMs: number }

/** A batch as its caller sees it. */
export function toBatchView(batch: Batch, { rowsPerMinute, keepMs }: ViewOptions): BatchView {
  const { id, state, mode, rows, refused, ends, endedAt } = batch
  return {
    id,
    state: state as BatchView['state'],
    mode,
    rows,
    counts: { waiting: countOpenRows(batch), ...ends, refused },
    accepted_at: toIsoTime(batch.acceptedAt ?? batch.createdAt),
    ended_at: endedAt === undefined ? null : toIsoTime(endedAt),
    estimated_end: endedAt === undefined ? toIsoTime(estimateEnd(batch, rowsPerMinute)) : null,
    kept_until: endedAt === undefined ? null : toIsoTime(endedAt + keepMs),
  }
}

/**
 * By the allowed rate after earlier batches of the key; by the rate of the last minutes, if that is lower: sources may be slow; and
 * by the rows of other keys that wait for places, which take turns with its own.
 */
function estimateEnd(batch: Batch, rowsPerMinute: number): number {
  const { now, pacedUntil, mark, rowsAhead, rows, refused, fed } = batch
  const open = countOpenRows(batch)
  const ended = rows - refused - open
  const byRate = Math.max(pacedUntil, now) + ((rowsAhead + rows - refused - fed) * MINUTE_MS) / rowsPerMinute
  const endedLately = mark ? ended - mark.ended : 0
  const byProgress = mark && endedLately > 0 ? now + (open * (now - mark.at)) / endedLately : 0
  return Math.ceil(Math.max(byRate, byProgress, now + estimateTurnsMs(batch, rowsAhead + open)))
}

/** While a key has this many rows to go, each other key that waits gets as many places, or as many as it has rows. */
function estimateTurnsMs({ lineage, running }: Batch, rows: number): number {
  const waiting = running.filter((each) => each.isLate)
  if (waiting.length === 0) return 0
  const perMs = running
    .filter((each) => each.isLate || each.lineage === lineage)
    .reduce((sum, each) => sum + each.perMs, 0)
  const others = Map.groupBy(
    waiting.filter((each) => each.lineage !== lineage),
    (each) => each.lineage,
  ).values()
  const shared = others.reduce(
    (sum, ofKey) =>
      sum +
      Math.min(
        rows,
        ofKey.reduce((all, each) => all + each.rows, 0),
      ),
    0,
  )
  return perMs > 0 ? (rows + shared) / perMs : 0
}

/** Moves the rows of batches to the queue of verifications. On each node; the nodes take turns. */
type BatchFeeder = {
  /** To be called when a batch was accepted or stopped. */
  readonly wake: () => Promise<void>
  readonly close: () => Promise<void>
}

const EVERY_MS = 1000
/** Rows are in the queue so long before they are due, so that a row is there when the one before is done. */
const AHEAD_MS = 3000
/** Rows of one key in the queue, when the sources are slower than the rate. */
const MAX_QUEUED = 1000

function startBatchFeeder(deps: BatchDeps): BatchFeeder {
  const { table, queue, rowsPerMinute, onFailure } = deps
  const feed = {
    intervalMs: MINUTE_MS / rowsPerMinute,
    aheadMs: AHEAD_MS,
    mostQueued: MAX_QUEUED,
    lifeMs: { test: toLifeMs(queue.settings, 'test'), live: toLifeMs(queue.settings, 'live') },
  }
  let isStopped = false
  let running: Promise<void> | undefined
  const feedAll = async () => {
    try {
      // Also rows that were running when their batch was stopped, and wait for another attempt now.
      for (const batch of await table.listStopping(steadyNow())) await cancelQueued(deps, batch)
      while (!isStopped && (await table.feed(feed, steadyNow())) > 0) queue.signals.wake()
    } catch (error) {
      onFailure(error)
    }
  }
  const wake = async () => {
    // A round that is under way may have looked before the change that this call is about.
    await running
    if (isStopped) return
    running ??= feedAll().finally(() => {
      running = undefined
    })
    await running
  }
  const timer = setInterval(() => void wake(), EVERY_MS).unref()
  return {
    wake,
    close: async () => {
      isStopped = true
      clearInterval(timer)
      await running
    },
  }
}

const CANCELLED_AT_ONCE = 100

/** Cancels the rows of a batch that are in the queue and have not begun, each with its audit row. */
async function cancelQueued({ queue, audit }: BatchDeps, { id, lineage }: Batch): Promise<void> {
  const { table, settings, signals } = queue
  for (;;) {
    const rows = await table.listWaiting(id, CANCELLED_AT_ONCE, steadyNow())
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
