import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { isStoreFailure, toFatal } from '../database/failure.ts'
import { AppError } from '../errors.ts'
import type { CommitParts, Refusal } from '../ledger/commit.ts'
import type { QueueChange, QueueRefusal } from '../ledger/queue-rows.ts'
import type { AuditTable } from './audit-table.ts'
import { createOwner, loadNodeName } from './chain-claim.ts'
import type { Pending } from './chain-writer.ts'
import { type ChainWriter, type ChainWriterOptions, openChainWriter } from './chain-writer.ts'
import { makeCheckpoint } from './checkpoint.ts'
import { findOpenLosses, noteLosses } from './losses.ts'
import type { RecentRows } from './recent-rows.ts'
import type { AuditEntry } from './row.ts'
import type { Signer } from './signing.ts'

/**
 * The audit log of this process. It guarantees that
 * - `record` resolves only after the rows are durable: a caller may then be answered, and not before;
 * - rows are only added, each with the hash of the row before it, so that a change or a deletion can be found;
 * - after a failed write every `record` throws `audit_unavailable` until a write succeeds again, and after damage or a disk
 *   error for good.
 *
 * Called by the verification path (intent and outcome), by the admin API and by the commands (one row for each change).
 *
 * One commit holds the rows of all requests that arrived while the commit before it was running, the stored responses of
 * their Idempotency-Keys, and what the rows add to the statistics: all of it or nothing. Each process extends its own chain,
 * so that writers never wait for each other. A checkpoint (a signed statement of the last row of every chain) is made every
 * minute, every 10 000 rows and at shutdown, in the database and in a file.
 */

type AuditLogOptions = ChainWriterOptions & {
  readonly checkpointDir: string
  /** Set by a restore, which puts an older log in place on purpose. */
  readonly acceptOlder?: boolean
  /** Notes what is lost instead of refusing the log, for an operator who then accepts it. */
  readonly notesLosses?: boolean
  /** Called once when the log can no longer be written. */
  readonly onUnavailable: (error: unknown) => void
  /** Called when a checkpoint could not be made. That alone does not stop the log. */
  readonly onCheckpointFailure: (error: unknown) => void
  /** Called when the database is damaged or lost, or its disk fails: the process must stop. */
  readonly onCorruption: (error: unknown) => void
}

const CHECKPOINT_EVERY_MS = 60_000
const PROBE_EVERY_MS = 1000
/** How often the acknowledged rows are written to the disk of this node. */
const FLUSH_EVERY_MS = 1000
/** At most this many requests share one commit. In PostgreSQL each person is a lock, and a server holds some 6000 in all. */
const MAX_PENDING = 256

export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  const owner = createOwner()
  const node = loadNodeName(options.dataDir)
  if (options.notesLosses) await noteLosses(options)
  const open = options.acceptOlder || options.notesLosses ? [] : await findOpenLosses(options)
  const writer = await openChainWriter(options, { node, owner })
  for (const loss of open) await writer.recordLoss(loss)
  return new AuditLog(options, owner, writer)
}

/** Adds rows to the log within a transaction of the caller, from whose tables `table` is: they are committed with its other work. */
export async function recordIn(options: ChainWriterOptions, entries: readonly AuditEntry[]): Promise<void> {
  const writer = await openChainWriter(options, { node: loadNodeName(options.dataDir), owner: createOwner() })
  await writer.write([{ entries, resolve: () => {}, reject: () => {} }])
  await writer.release()
}

export class AuditLog {
  readonly owner: string
  readonly #options: AuditLogOptions
  readonly #writer: ChainWriter
  #healthy = true
  /** Set after damage or a disk error, and never reset. */
  #ended = false
  #queue: Pending[] = []
  #asked = 0
  #running: Promise<void> | undefined
  readonly #checkpoints: CheckpointSchedule
  #probing = false
  readonly #waiting = new Set<() => Promise<void>>()
  #lastProbe: Promise<boolean> | undefined
  #probedAt = Number.NEGATIVE_INFINITY
  readonly #timers: readonly NodeJS.Timeout[]

  constructor(options: AuditLogOptions, owner: string, writer: ChainWriter) {
    this.#options = options
    this.owner = owner
    this.#writer = writer
    this.#checkpoints = createCheckpointSchedule(options, (error) => this.reportFailure(error))
    this.#timers = [
      setInterval(() => void this.#probe(), PROBE_EVERY_MS).unref(),
      setInterval(() => void this.#flush(), FLUSH_EVERY_MS).unref(),
      setInterval(() => void this.#heartbeatAndCheckpoint(), CHECKPOINT_EVERY_MS).unref(),
    ]
  }

  /** Whether the log refuses rows for good, because of damage or a disk error. */
  get hasEnded(): boolean {
    return this.#ended
  }

  /** Whether rows can be written now, as far as is known. */
  get isHealthy(): boolean {
    return this.#healthy
  }

  /** Undefined before the first checkpoint of this process. */
  get checkpointedAt(): number | undefined {
    return this.#checkpoints.lastAt()
  }

  /** How often rows were given to this log. It grows while requests are served. */
  get timesAsked(): number {
    return this.#asked
  }

  get rowsSinceCheckpoint(): number {
    return this.#checkpoints.rowsSince()
  }

  /** Throws while the log cannot be written. Called before a source is asked. */
  requireHealthy(): void {
    if (!this.#healthy) throw new AppError('audit_unavailable')
  }

  /** Calls it once, soon after rows can be written (again). */
  onceHealthy(work: () => Promise<void>): void {
    this.#waiting.add(work)
  }

  /** Returns whether the error came from the store. If so, the log is probed, so that the next requests fail fast. */
  reportFailure(error: unknown): boolean {
    if (toFatal(error)) this.#fail(error)
    if (!isStoreFailure(error)) return false
    if (this.#healthy) void this.#sendHeartbeat()
    return true
  }

  /** Probes the log at most once a second. Resolves to whether it can be written; no answer within a second counts as no. */
  async check(): Promise<boolean> {
    if (performance.now() - this.#probedAt > PROBE_EVERY_MS) {
      this.#probedAt = performance.now()
      this.#lastProbe = this.#sendHeartbeat()
    }
    const isQuick = await Promise.race([this.#lastProbe, pause(PROBE_EVERY_MS, false, { ref: false })])
    return isQuick === true && this.#healthy
  }

  /** Resolves when the entries are durable; else throws `audit_unavailable`. */
  async record(entries: readonly AuditEntry[]): Promise<void> {
    await this.#enqueue(entries, undefined)
  }

  /** The same, with the parts of a verification in the same commit. If one is refused, nothing is written, and it resolves to the reason. */
  recordWith(parts: CommitParts, entries: readonly AuditEntry[]): Promise<Refusal | undefined> {
    return this.#enqueue<Refusal>(entries, parts)
  }

  /** The same, with a change of the queue in the same commit, and with parts that cannot be refused. */
  recordChange(
    queue: QueueChange,
    entries: readonly AuditEntry[],
    parts?: CommitParts,
  ): Promise<QueueRefusal | undefined> {
    return this.#enqueue<QueueRefusal>(entries, parts, queue)
  }

  #enqueue<Reason = never>(
    entries: readonly AuditEntry[],
    parts: CommitParts | undefined,
    queue?: QueueChange,
  ): Promise<Reason | undefined> {
    this.requireHealthy()
    this.#asked += 1
    const { promise, resolve, reject } = Promise.withResolvers<Reason | undefined>()
    this.#queue.push({ entries, parts, queue, resolve: resolve as Pending['resolve'], reject })
    // Requests that are read in the same turn of the event loop share a commit.
    this.#running ??= nextTurn().then(() => this.#work())
    return promise
  }

  /** Signs the last row of every chain. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.make()
  }

  /** The last checkpoint, unless it would cover no new row. `close` makes another if rows are written after it. */
  checkpointLast(): Promise<void> {
    return this.#checkpoints.finish()
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#running
    await this.#flush()
    await this.#checkpoints.finish()
    await this.#writer.release().catch(() => {})
  }

  /** Group commit: requests that arrive during a commit share the next one. */
  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      let batch: readonly Pending[] = this.#queue.splice(0, MAX_PENDING)
      try {
        // Refusals are rare: the rows of the others are linked again without them.
        while (batch.length > 0) batch = await this.#commit(batch)
      } catch (error) {
        // Queued requests fail with the batch, so that none waits for two timeouts.
        for (const { reject } of [...batch, ...this.#queue.splice(0)])
          reject(new AppError('audit_unavailable', { cause: error }))
        this.#fail(error)
      }
      // On PostgreSQL, requests that can be read already share the next commit. On SQLite it costs more than it saves.
      if (this.#options.losses) await nextTurn()
    }
    this.#running = undefined
  }

  /** Returns what is still to be written. */
  async #commit(batch: readonly Pending[]): Promise<readonly Pending[]> {
    const { rest, written } = await this.#writer.write(batch, () => {
      if (this.#ended) throw new AppError('audit_unavailable')
    })
    this.#checkpoints.count(written)
    return rest
  }

  async #flush(): Promise<void> {
    await this.#writer.flush().catch(this.#options.onCheckpointFailure)
  }

  #fail(error: unknown): void {
    this.#writer.forget()
    const isFatal = toFatal(error) !== undefined
    const isNews = this.#healthy && !isFatal
    this.#healthy = false
    if (isNews) this.#options.onUnavailable(error)
    if (isFatal) this.#end(error)
  }

  #end(error: unknown): void {
    this.#healthy = false
    if (this.#ended) return
    this.#ended = true
    this.#options.onCorruption(error)
  }

  /** Renews the claim on the chain. That it succeeds shows that the log can be written. */
  #sendHeartbeat(): Promise<boolean> {
    return this.#writer.sendHeartbeat().then(
      () => true,
      (error) => {
        this.#fail(error)
        return false
      },
    )
  }

  /** While the log cannot be written, probes it once a second, so that the server recovers soon after the cause ends. */
  async #probe(): Promise<void> {
    if (this.#healthy) return this.#callWaiting()
    if (this.#probing || this.#ended) return
    this.#probing = true
    if ((await this.#sendHeartbeat()) && (await this.#writer.isComplete().catch(() => false)))
      this.#healthy = !this.#ended
    this.#probing = false
    if (this.#healthy) this.#callWaiting()
  }

  #callWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const work of waiting) void work()
  }

  async #heartbeatAndCheckpoint(): Promise<void> {
    await this.#sendHeartbeat()
    await this.#checkpoints.makeIfNeeded()
  }
}

/** Counts the rows since the last checkpoint, and makes the next one when it is due. */
type CheckpointSchedule = {
  /** One at a time; after a failure the next checkpoint covers the same rows. */
  readonly make: () => Promise<void>
  /** Makes one unless it would cover no new row. */
  readonly makeIfNeeded: () => Promise<void>
  /** Counts written rows. Makes a checkpoint every 10 000. */
  readonly count: (rows: number) => void
  /** When the last one was made, in Unix time in milliseconds; undefined before the first. */
  readonly lastAt: () => number | undefined
  readonly rowsSince: () => number
  /** Waits for the running checkpoint and makes the last one. */
  readonly finish: () => Promise<void>
}

type CheckpointScheduleOptions = {
  readonly table: AuditTable
  readonly signer: Signer
  readonly checkpointDir: string
  readonly recent?: RecentRows | undefined
  readonly onCheckpointFailure: (error: unknown) => void
}

const CHECKPOINT_EVERY_ROWS = 10_000

function createCheckpointSchedule(
  { table, signer, checkpointDir, recent, onCheckpointFailure }: CheckpointScheduleOptions,
  reportFailure: (error: unknown) => void,
): CheckpointSchedule {
  let running: Promise<void> | undefined
  let rowsSince = 0
  let lastAt: number | undefined

  const fail = (error: unknown) => {
    onCheckpointFailure(error)
    // A store failure stops the log; an unwritable checkpoint folder does not.
    reportFailure(error)
  }
  const make = () => {
    const covered = rowsSince
    running ??= makeCheckpoint(table, signer, checkpointDir, recent)
      .then(() => {
        // Rows written meanwhile belong to the next checkpoint.
        rowsSince -= covered
        lastAt = Date.now()
      }, fail)
      .finally(() => {
        running = undefined
      })
    return running
  }
  const makeIfNeeded = async () => {
    if (rowsSince > 0) await make()
  }
  return {
    make,
    makeIfNeeded,
    count: (rows) => {
      const before = rowsSince
      rowsSince += rows
      // A failed checkpoint is not repeated with every commit.
      if (before % CHECKPOINT_EVERY_ROWS > rowsSince % CHECKPOINT_EVERY_ROWS) void make()
    },
    lastAt: () => lastAt,
    rowsSince: () => rowsSince,
    finish: async () => {
      await running
      await makeIfNeeded()
    },
  }
}

/** Adds the account that makes a change to the detail of every row. */
export const auditBy = (
  { context }: { readonly context: { readonly audit: Pick<AuditLog, 'record'> } },
  { name }: { readonly name: string },
): Pick<AuditLog, 'record'> => ({
  record: (entries) => context.audit.record(withAuthor(entries, name)),
})

export const withAuthor = (entries: readonly AuditEntry[], name: string): AuditEntry[] =>
  entries.map((entry) => ({ ...entry, detail: [entry.detail, `by ${name}`].filter(Boolean).join('; ') }))
