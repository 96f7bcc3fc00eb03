import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import { endOf, monthOf } from '../ledger/audit-months.ts'
import { createRowBuffer, toEncodedRows } from '../ledger/encoded-rows.ts'
import { removeAcknowledged } from './acknowledged-file.ts'
import { appendBatch, type Pending, settleBatch, takeRefused } from './append-batch.ts'
import type { Head } from './audit-chains.ts'
import type { AuditTable } from './audit-table.ts'
import { claimChain } from './chain-claim.ts'
import { acceptLoss } from './loss-statement.ts'
import type { Loss } from './loss-table.ts'
import { type AcknowledgedRowsLost, createLossWatch, type LossOptions, type LossWatch } from './loss-watch.ts'
import { createPolicyStore, type PolicyStore } from './policy-store.ts'
import type { RecentRows } from './recent-rows.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from './row.ts'
import type { Signer } from './signing.ts'
import { refuseLostRows } from './unknown-commit.ts'

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
