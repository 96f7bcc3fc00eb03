import { createHmac, type Hmac } from 'node:crypto'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { AuditLog } from '../audit/audit-log.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import type { Batch, NewBatchRow } from '../ledger/batch.ts'
import type { BegunBatch } from '../ledger/batch-receive.ts'
import { hashKeyUse } from '../verification/idempotency.ts'
import { createReference } from '../verification/verification-request.ts'
import type { BatchDeps } from './batch-deps.ts'
import { limitBytes, readRows } from './read-rows.ts'
import { createSealRow, type IncomingBatch } from './seal-row.ts'

export type ReceivedBatch = { readonly batch: Batch; readonly replayed: boolean }

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
export async function receiveBatch(deps: BatchDeps, incoming: IncomingBatch): Promise<ReceivedBatch> {
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
    const received = { ...counts, fingerprint: fingerprint.digest() }
    const change = { kind: 'accept_batch', batch: receiver, received } as const
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

export const isBatchId = (text: string): boolean => /^bat_[0-9a-z]{36}$/.test(text)
