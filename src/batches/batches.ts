import { createHmac, type Hmac, type KeyObject } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import type { Log } from '../telemetry/log.ts'
import { hashKeyUse } from '../verification/idempotency.ts'
import type { QueueDeps } from '../verification/queue/open-queue.ts'
import { toLifeMs } from '../verification/queue/verify-later.ts'
import { createReference } from '../verification/verification-request.ts'
import type { Batch, NewBatchRow } from './batch.ts'
import { toGroupChange } from './batch-groups.ts'
import { type Reader, type ResultType, writeResults } from './batch-results.ts'
import type { RowRefusal } from './batch-row.ts'
import type { BatchPosition, BatchTable, BegunBatch } from './batch-table.ts'
import { type BatchView, toBatchView } from './batch-view.ts'
import { limitBytes, readRows } from './read-rows.ts'
import { createSealRow, type IncomingBatch, openRowLabel } from './seal-row.ts'
import type { BatchSettings } from './settings.ts'
import { createTurns, type Turns } from './turns.ts'

/** The key or the account that acts, for the audit log. */
type Actor = Pick<AuditEntry, 'key_id' | 'mode' | 'detail'>

type ReceivedBatch = { readonly batch: Batch; readonly replayed: boolean }

/** Files of verifications. */
export type Batches = {
  readonly receive: (incoming: IncomingBatch) => Promise<ReceivedBatch>
  /** Of one key only, if a lineage is given. */
  readonly find: (id: string, lineage?: string) => Promise<Batch | undefined>
  /** The latest first. */
  readonly list: (before: BatchPosition | undefined, most: number) => Promise<Batch[]>
  readonly toView: (batch: Batch) => BatchView
  readonly listRefusals: (batch: Pick<Batch, 'id' | 'lineage'>) => AsyncIterable<readonly RowRefusal[]>
  /** The audit row is written before the first result is read. */
  readonly readResults: (
    id: string,
    type: ResultType,
    caller: Reader & Pick<Caller, 'mode'>,
  ) => Promise<AsyncIterable<string>>
  /** Cancels the rows that have not begun. A batch that has ended is not changed. */
  readonly stop: (batch: Batch, actor: Actor) => Promise<void>
  readonly deleteExpired: () => Promise<number>
  readonly close: () => Promise<void>
}

const REFUSALS_AT_ONCE = 100
/** Bodies that one process reads at the same time. Each may be in memory: 16 MiB. */
const MAX_RECEIVED_AT_ONCE = 4
/** Of one key, so that its slow bodies do not keep out other keys. */
const MAX_RECEIVED_OF_A_KEY = 2

/** What batches need of the server. */
type BatchDeps = {
  readonly table: BatchTable
  readonly audit: AuditLog
  readonly queue: QueueDeps
  /** Signs links to pictures. */
  readonly pictureKey: () => KeyObject
  /** Hashes numbers. */
  readonly subjectKey: KeyObject
  /** Of one key. */
  readonly rowsPerMinute: number
  /** Batches of one key that have not ended. */
  readonly mostBatches: number
  /** Allowed values of X-Purpose. Undefined: any. */
  readonly purposes: readonly string[] | undefined
  readonly onFailure: (error: unknown) => void
}

type Deps = {
  readonly store: { readonly batches: BatchTable }
  readonly audit: AuditLog
  readonly queue: QueueDeps
  readonly pictureKey: () => KeyObject
  readonly log: Log
}

/** Batches, with the feeder that moves their rows to the queue. */
export const openBatches = (
  config: BatchSettings & Pick<BatchDeps, 'purposes'>,
  { store, audit, queue, pictureKey, log }: Deps,
): Batches =>
  createBatches({
    table: store.batches,
    audit,
    queue,
    pictureKey,
    subjectKey: queue.keyring.subject,
    rowsPerMinute: config.batchRate,
    mostBatches: config.batchesPerKey,
    purposes: config.purposes,
    onFailure: log.failure,
  })

function createBatches(deps: BatchDeps): Batches {
  const { table, audit, queue, pictureKey, rowsPerMinute } = deps
  const { keepMs } = queue.settings
  const feeder = startBatchFeeder(deps)
  const turns = createTurns()
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
    listRefusals: (batch) => listRefusals(deps, turns, batch),
    readResults: async (id, type, caller) => {
      const { keyId: key_id, mode } = caller
      await audit.record([{ phase: 'batch_read', key_id, mode, request_reference: id, outcome: 'ok' }])
      return writeResults({ table, queue, turns, pictureKey }, id, type, caller)
    },
    stop: async (batch, actor) => {
      if (batch.endedAt !== undefined) return
      // Refused if it was stopped before, or has ended meanwhile.
      await audit.recordChange(toGroupChange({ kind: 'stop', id: batch.id }), [
        { phase: 'batch_cancelled', ...actor, request_reference: batch.id, outcome: 'ok' },
      ])
      await feeder.wake()
    },
    deleteExpired: () => table.deleteExpired(keepMs, steadyNow()),
    close: feeder.close,
  }
}

/**
 * Rows that are written in one commit. Other writes wait for it. So while other requests are served, it is short, and after it there
 * is a pause for them as long as the rows took, up to a bound.
 */
const ROWS_AT_ONCE = { alone: 200, withOthers: 20 } as const
const MAX_PAUSE_MS = 10
/** Others count so long after their last write. */
const OTHERS_MS = 100
/** Rows that are validated and sealed without a pause for other requests. */
const ROWS_PER_TURN = 5

/** Receives a batch. All of it is accepted when the whole body has arrived, or nothing. */
async function receiveBatch(deps: BatchDeps, incoming: IncomingBatch): Promise<ReceivedBatch> {
  const { audit, table, queue } = deps
  const { caller, headers, pieces } = incoming
  audit.requireHealthy()
  const id = createBatchId()
  const { keyId, lineage, mode } = caller
  const idempotency = toIdempotency(deps, caller, headers['idempotency-key'])
  const receiver = { id, owner: audit.owner }
  const most = deps.mostBatches
  const begun = await table.begin({ ...receiver, keyId, lineage, mode, idempotency, most }, steadyNow())
  const fingerprint = createHmac('sha256', queue.keyring.idempotency).update(`batch ${incoming.format}\n`)
  if (begun.state !== 'begun') return replayBatch(begun, pieces, fingerprint)
  try {
    const counts = await receiveRows(deps, incoming, receiver, withHash(pieces, fingerprint))
    if (counts.rows === 0)
      throw new AppError('validation_failed', { errors: { body: ['body must have at least one row'] } })
    const about = { key_id: keyId, mode, operation: OPERATION, request_reference: id }
    const detail = `${counts.rows} rows, ${counts.refused} refused`
    const received = { ...receiver, ...counts, fingerprint: fingerprint.digest() }
    const change = toGroupChange({ kind: 'accept', ...received })
    const refusal = await audit.recordChange(change, [{ phase: 'batch_accepted', ...about, detail }])
    const batch = refusal ? undefined : await table.find(id, lineage, queue.settings.keepMs, steadyNow())
    if (!batch) throw new AppError('overloaded')
    return { batch, replayed: false }
  } catch (error) {
    await table.breakOff(receiver).catch(() => {})
    throw error
  }
}

const OPERATION = 'create_batch'

/** Keyed hash of the Idempotency-Key. */
function toIdempotency(
  { queue: { keyring } }: BatchDeps,
  { lineage }: Caller,
  given: string | string[] | undefined,
) {
  if (given === undefined) return undefined
  const use = { keyId: lineage, operation: OPERATION, header: String(given), request: [], subject: '' }
  return hashKeyUse(keyring.idempotency, use).name
}

/** The batch that was accepted under the same Idempotency-Key, if the body is the same. */
async function replayBatch(
  begun: Exclude<BegunBatch, { state: 'begun' }>,
  pieces: AsyncIterable<Buffer>,
  fingerprint: Hmac,
): Promise<ReceivedBatch> {
  if (begun.state === 'full') throw new AppError('queue_full')
  if (begun.state !== 'known') throw new AppError('idempotency_in_progress')
  for await (const _piece of limitBytes(withHash(pieces, fingerprint)));
  if (!fingerprint.digest().equals(begun.fingerprint)) throw new AppError('idempotency_key_reused')
  return { batch: begun.batch, replayed: true }
}

async function* withHash(pieces: AsyncIterable<Buffer>, hash: Hmac): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}

/** Checks, seals and writes the rows, some at a time. */
async function receiveRows(
  { table, audit, queue, subjectKey, purposes }: BatchDeps,
  incoming: IncomingBatch,
  receiver: { readonly id: string; readonly owner: string },
  pieces: AsyncIterable<Buffer>,
): Promise<{ readonly rows: number; readonly refused: number }> {
  const sealRow = createSealRow(queue.keyring, subjectKey, incoming, purposes)
  let group: NewBatchRow[] = []
  let rows = 0
  let refused = 0
  let begunAt = performance.now()
  const isAlone = createIsAlone(audit)
  const write = async () => {
    // Another request with the same Idempotency-Key took over, because this one was too slow.
    if (!(await table.addRows(receiver, group, steadyNow()))) throw new AppError('request_timeout')
    group = []
    if (!isAlone()) await pause(Math.min(performance.now() - begunAt, MAX_PAUSE_MS))
    begunAt = performance.now()
  }
  for await (const read of readRows(incoming.format, pieces)) {
    const row = sealRow(read)
    rows += 1
    if (row.refusals !== undefined) refused += 1
    group.push(row)
    if (group.length >= (isAlone() ? ROWS_AT_ONCE.alone : ROWS_AT_ONCE.withOthers)) await write()
    else if (group.length % ROWS_PER_TURN === 0) await nextTurn()
  }
  if (group.length > 0) await write()
  return { rows, refused }
}

/** Whether this process wrote nothing for other requests lately. */
function createIsAlone(audit: Pick<AuditLog, 'timesAsked'>): () => boolean {
  let asked = audit.timesAsked
  let othersAt = Number.NEGATIVE_INFINITY
  return () => {
    if (audit.timesAsked !== asked) {
      asked = audit.timesAsked
      othersAt = performance.now()
    }
    return performance.now() - othersAt > OTHERS_MS
  }
}

/** `bat_` and the time and random characters of a reference: sorts by time, cannot be guessed. */
const createBatchId = (): string => `bat_${createReference().slice('ver_'.length)}`

const isBatchId = (text: string): boolean => /^bat_[0-9a-z]{36}$/.test(text)

async function* listRefusals(
  { table, queue: { keyring } }: BatchDeps,
  turns: Turns,
  { id, lineage }: Pick<Batch, 'id' | 'lineage'>,
): AsyncGenerator<readonly RowRefusal[]> {
  let afterLine = 0
  for (;;) {
    const rows = await turns.take(lineage, () => table.listRefusals(id, afterLine, REFUSALS_AT_ONCE))
    if (rows.length === 0) return
    yield rows.flatMap(({ line, refusals, ...row }) => {
      const reference = openRowLabel(keyring, row)
      return (JSON.parse(refusals) as Pick<RowRefusal, 'field' | 'message'>[]).map((refusal) => ({
        line,
        reference,
        ...refusal,
      }))
    })
    afterLine = rows.at(-1)?.line ?? afterLine
  }
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
