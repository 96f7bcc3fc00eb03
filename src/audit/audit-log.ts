import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import { tallyRows } from '../statistics/tally.ts'
import { type AuditTable, type Completion, type Head, packRows } from '../store/audit-table.ts'
import { isStoreFailure, toFatal } from '../store/failure.ts'
import { packTallies } from '../store/statistics-table.ts'
import { claimChain, createOwner, loadNodeName } from './chain-claim.ts'
import { makeCheckpoint, refuseOlderStore } from './checkpoint.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from './row.ts'
import type { Signer } from './signing.ts'
import { refuseLostRows, wasCommitted } from './unknown-commit.ts'

type AuditLogOptions = {
  readonly table: AuditTable
  readonly signer: Signer
  readonly dataDir: string
  readonly checkpointDir: string
  /** A restore puts an older log in place on purpose: the next checkpoint says so. */
  readonly acceptOlder?: boolean
  /** Told once when the log can no longer be written. */
  readonly onTrouble: (error: unknown) => void
  /** A checkpoint could not be made. Rows can be written all the same, as far as that goes. */
  readonly onCheckpointFailure: (error: unknown) => void
  /** The database is damaged or lost, or its disk fails: nothing may go on. */
  readonly onCorruption: (error: unknown) => void
}

type Pending = {
  readonly entries: readonly AuditEntry[]
  readonly completion: Completion | undefined
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

const CHECKPOINT_EVERY_MS = 60_000
const CHECKPOINT_EVERY_ROWS = 10_000
const PROBE_EVERY_MS = 1000
/** Most requests that share one commit. */
const MOST_PENDING = 1000
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog> {
  if (!options.acceptOlder) await refuseOlderStore(options.table, options.checkpointDir)
  const owner = createOwner()
  const node = loadNodeName(options.dataDir)
  return new AuditLog(options, node, owner, await claimChain(options.table, node, owner))
}

/** The one writer of this process: it extends a chain of its own, so it never waits for another process. */
export class AuditLog {
  readonly owner: string
  readonly #options: AuditLogOptions
  readonly #node: string
  #chain: string
  #head: Head | undefined
  /** The last row that somebody was answered on: a log without it is not the one that was written. */
  #acknowledged: Head | undefined
  #healthy = true
  /** After damage or a failed disk: for good. */
  #ended = false
  #queue: Pending[] = []
  #running: Promise<void> | undefined
  #checkpointing: Promise<void> | undefined
  #rowsSinceCheckpoint = 0
  #probing = false
  #trial: Promise<boolean> | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  readonly #timers: readonly NodeJS.Timeout[]

  constructor(options: AuditLogOptions, node: string, owner: string, chain: string) {
    this.#options = options
    this.#node = node
    this.owner = owner
    this.#chain = chain
    this.#timers = [
      setInterval(() => void this.#probe(), PROBE_EVERY_MS).unref(),
      setInterval(() => void this.#pulse(), CHECKPOINT_EVERY_MS).unref(),
    ]
  }

  /** Throws while the log cannot be written, before anybody is asked anything. */
  requireHealthy(): void {
    if (!this.#healthy) throw new AppError('audit_unavailable')
  }

  /** Whether a failure that others met was the store's. Then the log is tried, so that nobody else finds out the slow way. */
  reportFailure(error: unknown): boolean {
    if (toFatal(error)) this.#fail(error)
    if (!isStoreFailure(error)) return false
    if (this.#healthy) void this.#beat()
    return true
  }

  /** Throttle the log if that was not done a moment ago, and says whether it can be written now; soon counts as no. */
  async check(): Promise<boolean> {
    if (performance.now() - this.#triedAt > PROBE_EVERY_MS) {
      this.#triedAt = performance.now()
      this.#trial = this.#beat()
    }
    const isQuick = await Promise.race([this.#trial, pause(PROBE_EVERY_MS, false, { ref: false })])
    return isQuick === true && this.#healthy
  }

  /** Resolves when the entries, and the completion of an Idempotency-Key, are durable; else `audit_unavailable`. */
  async record(entries: readonly AuditEntry[], completion?: Completion): Promise<void> {
    this.requireHealthy()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#queue.push({ entries, completion, resolve, reject })
    this.#running ??= Promise.resolve().then(() => this.#work())
    await promise
  }

  /** A signed statement of where all chains stand. One at a time; what fails now is made up for the next time. */
  checkpoint(): Promise<void> {
    const { table, signer, checkpointDir } = this.#options
    const covered = this.#rowsSinceCheckpoint
    this.#checkpointing ??= makeCheckpoint(table, signer, checkpointDir)
      .then(() => {
        // Rows that came meanwhile wait for the next one.
        this.#rowsSinceCheckpoint -= covered
      }, this.#failCheckpoint)
      .finally(() => {
        this.#checkpointing = undefined
      })
    return this.#checkpointing
  }

  readonly #failCheckpoint = (error: unknown): void => {
    this.#options.onCheckpointFailure(error)
    // The store's own trouble is everybody's; a folder that cannot be written is not.
    this.reportFailure(error)
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#running
    await this.#checkpointing
    if (this.#rowsSinceCheckpoint > 0) await this.checkpoint()
    await this.#options.table.release(this.#chain, this.owner, Date.now()).catch(() => {})
  }

  /** Group commit: what arrives while one is under way goes together in the next. */
  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, MOST_PENDING)
      try {
        const late = await this.#commit(batch)
        for (const pending of batch) {
          // Its Idempotency-Key was given to another after the lease: what happened is on record, the answer is not ours.
          if (late.has(pending)) pending.reject(new AppError('idempotency_in_progress'))
          else pending.resolve()
        }
      } catch (error) {
        // Those who wait behind a failure fail with it, so that nobody waits for two.
        for (const { reject } of [...batch, ...this.#queue.splice(0)])
          reject(new AppError('audit_unavailable', { cause: error }))
        this.#fail(error)
      }
    }
    this.#running = undefined
  }

  /** Writes the batch, and tells whose completion came too late. */
  async #commit(batch: readonly Pending[]): Promise<Set<Pending | undefined>> {
    this.#head ??= await this.#findHead()
    const entries = batch.flatMap((pending) => pending.entries)
    const completing = batch.filter(({ completion }) => completion)
    const completions = completing.flatMap(({ completion }) => completion ?? [])
    const rows = linkEntries(this.#chain, this.#head, entries)
    const late = await this.#options.table
      .append(packRows(rows), completions, packTallies(tallyRows(rows)))
      // Whose completions were late is not known then: all of them are told to come back for the answer.
      .catch(async (error) => {
        if (!(await wasCommitted(this.#options.table, this.#chain, rows.at(-1), error))) throw error
        return completions.keys().toArray()
      })
    if (this.#ended) throw new AppError('audit_unavailable')
    this.#head = rows.at(-1) ?? this.#head
    this.#acknowledged = this.#head
    const before = this.#rowsSinceCheckpoint
    this.#rowsSinceCheckpoint += rows.length
    // One that fails is not tried again with every commit.
    if (before % CHECKPOINT_EVERY_ROWS > this.#rowsSinceCheckpoint % CHECKPOINT_EVERY_ROWS)
      void this.checkpoint()
    return new Set(late.map((index) => completing[index]))
  }

  /** At the start, and after a failure, when nobody knows what was written. A chain that others took is left to them. */
  async #findHead(): Promise<Head> {
    const { table } = this.#options
    const isMine = (await table.chains()).some(
      ({ chain, owner }) => chain === this.#chain && owner === this.owner,
    )
    await refuseLostRows(table, this.#chain, this.#acknowledged)
    if (!isMine) {
      this.#chain = await claimChain(table, this.#node, this.owner)
      this.#acknowledged = undefined
    }
    return (await table.head(this.#chain)) ?? EMPTY_HEAD
  }

  #fail(error: unknown): void {
    this.#head = undefined
    const isFatal = toFatal(error) !== undefined
    const isNews = this.#healthy && !isFatal
    this.#healthy = false
    if (isNews) this.#options.onTrouble(error)
    if (isFatal) this.#end(error)
  }

  #end(error: unknown): void {
    this.#healthy = false
    if (this.#ended) return
    this.#ended = true
    this.#options.onCorruption(error)
  }

  /** Says that this process is alive, which shows whether the log can be written. */
  #beat(): Promise<boolean> {
    return this.#options.table.sendHeartbeat(this.#chain, this.owner, Date.now()).then(
      () => true,
      (error) => {
        this.#fail(error)
        return false
      },
    )
  }

  /** While the log cannot be written it is tried once a second, so the server is back soon after the cause is gone. */
  async #probe(): Promise<void> {
    if (this.#healthy || this.#probing || this.#ended) return
    this.#probing = true
    if (await this.#beat()) this.#healthy = !this.#ended
    this.#probing = false
  }

  async #pulse(): Promise<void> {
    await this.#beat()
    if (this.#rowsSinceCheckpoint > 0) await this.checkpoint()
  }
}
