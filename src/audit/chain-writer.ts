import { setTimeout as pause } from 'node:timers/promises'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { isOutcomeUnknown } from '../database/failure.ts'
import { LOST_CODE } from '../database/sqlite-files.ts'
import { isServerTimeout } from '../database/timeout-breaker.ts'
import { AppError } from '../errors.ts'
import { endOf, monthOf } from '../ledger/audit-months.ts'
import type { AuditRow } from '../ledger/audit-row.ts'
import type { Appended } from '../ledger/commit.ts'
import { type CommitParts, packParts, type Refusal } from '../ledger/commit.ts'
import { createRowBuffer, type EncodedRows, toEncodedRows } from '../ledger/encoded-rows.ts'
import type { QueueChange, QueueRefusal } from '../ledger/queue-rows.ts'
import { tallyRows } from '../ledger/tally.ts'
import { removeAcknowledged } from './acknowledged-file.ts'
import type { Head } from './audit-chains.ts'
import type { AuditTable } from './audit-table.ts'
import { claimChain } from './chain-claim.ts'
import type { Loss } from './loss-table.ts'
import {
  type AcknowledgedRowsLost,
  acceptLoss,
  createLossWatch,
  type LossOptions,
  type LossWatch,
} from './losses.ts'
import type { RecentRows } from './recent-rows.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries, toPolicyId } from './row.ts'
import type { Signer } from './signing.ts'

export type ChainWriterOptions = {
  readonly table: AuditTable
  readonly signer: Signer
  readonly dataDir: string
  /** With PostgreSQL, where a failover can lose rows. On SQLite the process stops instead. */
  readonly losses?: LossOptions | undefined
  /** Is given the rows that were written, for the index and the checkpoints. */
  readonly recent?: RecentRows | undefined
}

type Owner = { readonly node: string; readonly owner: string }

/** Claims a chain and returns its writer. */
export async function openChainWriter(options: ChainWriterOptions, owner: Owner): Promise<ChainWriter> {
  return new ChainWriter(options, owner, await claimChain(options.table, owner.node, owner.owner))
}

/** Extends the chain of this process. Takes another chain in every month, and if it lost its own. */
export class ChainWriter {
  readonly #options: ChainWriterOptions
  readonly #owner: Owner
  #chain: string
  #head: Head | undefined
  /** The last row that a caller was answered on. A log without it has lost rows. */
  #acknowledged: Head | undefined
  readonly #policies: PolicyStore
  /** Of its chain, and of the one that it extended before. */
  #watches: readonly LossWatch[] = []
  /** When it takes a chain of the next month. */
  #nextChainAt = 0

  constructor(options: ChainWriterOptions, owner: Owner, chain: string) {
    this.#options = options
    this.#owner = owner
    this.#policies = createPolicyStore(options.table)
    this.#chain = chain
    this.#watchChain()
  }

  /** Writes the batch, or nothing if a check refuses some of it. Returns what is still to be written, and the rows written. */
  async write(
    batch: readonly Pending[],
    requireOpen: () => void = () => {},
  ): Promise<{ readonly rest: readonly Pending[]; readonly written: number }> {
    if (this.#head && steadyNow() >= this.#nextChainAt) await this.#enterMonth()
    this.#head ??= await this.#findHead()
    const entries = batch.flatMap((pending) => pending.entries)
    // A row refers to the fields that were released; their names are durable before it.
    const storing = this.#policies.store(entries)
    if (storing) await storing
    const buffer = createRowBuffer(entries.length)
    const rows = linkEntries(this.#chain, this.#head, entries, buffer)
    const { refused, late } = await appendBatch(this.#options.table, batch, rows, toEncodedRows(buffer))
    requireOpen()
    if (refused.length > 0) return { rest: takeRefused(batch, refused), written: 0 }
    this.#head = rows.at(-1) ?? this.#head
    this.#acknowledged = this.#head
    this.#watches[0]?.file.add(rows)
    settleBatch(batch, late)
    this.#options.recent?.add(rows)
    return { rest: [], written: rows.length }
  }

  /** After a failure: the last row is read again before the next write. */
  forget(): void {
    this.#head = undefined
    this.#policies.forget()
    this.#options.recent?.forget()
  }

  /** Renews the claim on the chain. */
  sendHeartbeat(): Promise<void> {
    return this.#options.table.sendHeartbeat(this.#chain, this.#owner.owner, Date.now())
  }

  /** Writes what was acknowledged to the disk of this node. */
  async flush(): Promise<void> {
    for (const { file } of this.#watches) await file.flush()
  }

  async release(): Promise<void> {
    await this.#options.table.release(this.#chain, this.#owner.owner, Date.now())
  }

  /** Whether nothing is lost, or the loss was accepted. The shortened chain is not extended again. */
  async isComplete(): Promise<boolean> {
    if (!(await this.#findLoss())) return true
    const open: Loss[] = []
    for (const watch of this.#watches) {
      const loss = await watch.findOpen()
      if (loss) open.push(loss)
    }
    if (open.length > 0 && !this.#options.losses?.isRecorded) return false
    this.#watches = []
    // If this chain is complete, it may be claimed again.
    await this.release()
    await this.#claim()
    for (const loss of open) await this.recordLoss(loss)
    return true
  }

  /** Writes the statement of a loss to this chain, which has lost nothing. */
  async recordLoss(loss: Loss): Promise<void> {
    const { losses, signer, dataDir } = this.#options
    if (!losses) throw new AppError('audit_unavailable')
    const record = async (entries: readonly AuditEntry[]) => {
      await this.write([{ entries, resolve: () => {}, reject: () => {} }])
    }
    await acceptLoss(loss, { losses: losses.losses, signer, record, by: losses.by })
    await removeAcknowledged(dataDir, loss.chain)
  }

  /** Reads the last row at the start and after a failure. If another process took the chain, this one claims another. */
  async #findHead(): Promise<Head> {
    const { table } = this.#options
    const isMine = (await table.chains()).some(
      ({ chain, owner }) => chain === this.#chain && owner === this.#owner.owner,
    )
    const lost = await this.#findLoss()
    if (lost) throw lost
    if (this.#watches.length === 0) await refuseLostRows(table, this.#chain, this.#acknowledged)
    if (!isMine) await this.#claim()
    const head = await table.head(this.#chain)
    if (head || steadyNow() < this.#nextChainAt) return head ?? EMPTY_HEAD
    // A process that wrote nothing in the month of its chain: that month may be archived by now.
    await this.#enterMonth()
    return (await table.head(this.#chain)) ?? EMPTY_HEAD
  }

  async #claim(): Promise<void> {
    const { node, owner } = this.#owner
    this.#chain = await claimChain(this.#options.table, node, owner)
    this.#head = undefined
    this.#acknowledged = undefined
    this.#watchChain()
  }

  /** Between two writes. As long as the new month has no partition, the chain of the last one is extended. */
  async #enterMonth(): Promise<void> {
    this.#nextChainAt = steadyNow() + MINUTE_MS
    const { table } = this.#options
    const last = this.#chain
    if ((await table.openMonth(steadyNow())) === monthOf(last)) return
    await this.#claim()
    // Unless it is released, another process does it at its start.
    await table.release(last, this.#owner.owner, Date.now()).catch(() => {})
  }

  #watchChain(): void {
    const { losses } = this.#options
    const month = monthOf(this.#chain)
    this.#nextChainAt = month ? endOf(month) : steadyNow() + MINUTE_MS
    if (losses)
      this.#watches = [createLossWatch(this.#options, losses, this.#chain), ...this.#watches.slice(0, 1)]
  }

  async #findLoss(): Promise<AcknowledgedRowsLost | undefined> {
    let lost: AcknowledgedRowsLost | undefined
    for (const watch of this.#watches) lost = (await watch.findLoss()) ?? lost
    return lost
  }
}

/** A request that waits for its commit. */
export type Pending = {
  readonly entries: readonly AuditEntry[]
  readonly parts?: CommitParts | undefined
  readonly queue?: QueueChange | undefined
  readonly resolve: (refusal?: Refusal | QueueRefusal) => void
  readonly reject: (error: Error) => void
}

/** Writes the rows of a batch with its parts, changes of the queue and tallies, in one commit. */
async function appendBatch(
  table: AuditTable,
  batch: readonly Pending[],
  rows: readonly AuditRow[],
  encoded: EncodedRows,
): Promise<Appended> {
  const now = steadyNow()
  const parts = packParts(
    batch.map((pending) => pending.parts),
    now,
  )
  const changes = batch.flatMap(({ queue }, position) => (queue ? [[position, queue] as const] : []))
  const last = rows.at(-1)
  return table
    .append({ rows: table.packRows(rows, encoded), tallies: tallyRows(rows), parts }, { now, changes })
    .catch(async (error): Promise<Appended> => {
      if (!last || !(await wasCommitted(table, last.chain, last, error))) throw error
      // Which responses were late is unknown then: all of these callers must ask again.
      return { refused: [], late: parts?.completions.map(({ position }) => position) ?? [] }
    })
}

/** Resolves the requests of a batch that is written. */
function settleBatch(batch: readonly Pending[], late: readonly number[]): void {
  for (const [position, { parts, resolve, reject }] of batch.entries()) {
    if (parts?.guess?.isWrong) parts.guess.attempt.counted = true
    // The lease ended and another request took the Idempotency-Key: the rows are written, but this response is not stored.
    if (late.includes(position)) reject(new AppError('idempotency_in_progress'))
    else resolve()
  }
}

/** Tells the refused ones, and returns the others. */
function takeRefused(batch: readonly Pending[], refused: Appended['refused']): Pending[] {
  const refusals = new Map(refused)
  for (const [position, refusal] of refusals) batch[position]?.resolve(refusal)
  return batch.filter((_pending, position) => !refusals.has(position))
}

/** The database no longer holds rows that were acknowledged. */
class RowsLost extends Error {
  readonly code = LOST_CODE

  constructor() {
    super('the audit log has lost acknowledged rows')
    this.name = 'RowsLost'
  }
}

const holds = async (table: AuditTable, chain: string, { sequence, hash }: Head) => {
  const row = await table.find(chain, sequence)
  return row !== undefined && Buffer.from(row.hash).equals(hash)
}

/** How much longer callers wait for the answer. */
export const LOOK_MS = 1000

/**
 * Whether a commit whose reply was lost has been executed: looks for its last row. A server that was silent for the whole
 * time of an operation is not asked, because its callers have waited long enough. They get 503, and the log is read before the
 * next row is written.
 */
async function wasCommitted(table: AuditTable, chain: string, last: Head | undefined, error: unknown) {
  if (!last || !isOutcomeUnknown(error) || isServerTimeout(error)) return false
  const isThere = holds(table, chain, last).catch(() => false)
  return Promise.race([isThere, pause(LOOK_MS, false, { ref: false })])
}

/** Throws when acknowledged rows are gone, as after a failover to a standby that lagged or a restored old copy. */
async function refuseLostRows(table: AuditTable, chain: string, last: Head | undefined) {
  if (last && !(await holds(table, chain, last))) throw new RowsLost()
}

/** Stores the names of released fields once, before the first row that refers to them. */
type PolicyStore = {
  /** Undefined when all are stored, as with most batches. */
  readonly store: (entries: readonly AuditEntry[]) => undefined | Promise<void>
  /** After a failure it is unknown what the database holds. */
  readonly forget: () => void
}

function createPolicyStore(table: Pick<AuditTable, 'insertPolicies'>): PolicyStore {
  const stored = new Set<string>()
  const insert = async (fresh: ReadonlySet<string>) => {
    await table.insertPolicies([...fresh].map((fields) => ({ id: toPolicyId(fields), fields })))
    for (const fields of fresh) stored.add(fields)
  }
  return {
    store: (entries) => {
      const fresh = new Set<string>()
      for (const { fields_released: fields } of entries) if (fields && !stored.has(fields)) fresh.add(fields)
      return fresh.size === 0 ? undefined : insert(fresh)
    },
    forget: () => stored.clear(),
  }
}
