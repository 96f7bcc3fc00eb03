import { AppError } from '../errors.ts'
import type { Head } from '../store/audit-chains.ts'
import type { AuditTable } from '../store/audit-table.ts'
import { createRowBuffer, toEncodedRows } from '../store/encoded-rows.ts'
import type { Loss } from '../store/loss-table.ts'
import { removeAcknowledged } from './acknowledged-file.ts'
import { appendBatch, type Pending, settleBatch, takeRefused } from './append-batch.ts'
import { claimChain } from './chain-claim.ts'
import { acceptLoss } from './loss-statement.ts'
import { AcknowledgedRowsLost, createLossWatch, type LossOptions, type LossWatch } from './loss-watch.ts'
import { createPolicyStore, type PolicyStore } from './policy-store.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from './row.ts'
import type { Signer } from './signing.ts'
import { refuseLostRows } from './unknown-commit.ts'

export type ChainWriterOptions = {
  readonly table: AuditTable
  readonly signer: Signer
  readonly dataDir: string
  /** With PostgreSQL, where a failover can lose rows. On SQLite the process stops instead. */
  readonly losses?: LossOptions | undefined
}

type Owner = { readonly node: string; readonly owner: string }

/** Claims a chain and returns its writer. */
export async function openChainWriter(options: ChainWriterOptions, owner: Owner): Promise<ChainWriter> {
  return new ChainWriter(options, owner, await claimChain(options.table, owner.node, owner.owner))
}

/** Extends the chain of this process. Takes another chain if it lost its own. */
export class ChainWriter {
  readonly #options: ChainWriterOptions
  readonly #owner: Owner
  #chain: string
  #head: Head | undefined
  /** The last row that a caller was answered on. A log without it has lost rows. */
  #acknowledged: Head | undefined
  readonly #policies: PolicyStore
  #watch: LossWatch | undefined

  constructor(options: ChainWriterOptions, owner: Owner, chain: string) {
    this.#options = options
    this.#owner = owner
    this.#chain = chain
    this.#policies = createPolicyStore(options.table)
    this.#watch = this.#createWatch()
  }

  /** Writes the batch, or nothing if a check refuses some of it. Returns what is still to be written, and the rows written. */
  async write(
    batch: readonly Pending[],
    requireOpen: () => void = () => {},
  ): Promise<{ readonly rest: readonly Pending[]; readonly written: number }> {
    this.#head ??= await this.#findHead()
    const entries = batch.flatMap((pending) => pending.entries)
    // A row refers to the fields that were released; their names are durable before it.
    await this.#policies.store(entries)
    const buffer = createRowBuffer(entries.length)
    const rows = linkEntries(this.#chain, this.#head, entries, buffer)
    const { refused, late } = await appendBatch(this.#options.table, batch, rows, toEncodedRows(buffer))
    requireOpen()
    if (refused.length > 0) return { rest: takeRefused(batch, refused), written: 0 }
    this.#head = rows.at(-1) ?? this.#head
    this.#acknowledged = this.#head
    this.#watch?.file.add(rows)
    settleBatch(batch, late)
    return { rest: [], written: rows.length }
  }

  /** After a failure: the last row is read again before the next write. */
  forget(): void {
    this.#head = undefined
    this.#policies.forget()
  }

  /** Renews the claim on the chain. */
  sendHeartbeat(): Promise<void> {
    return this.#options.table.sendHeartbeat(this.#chain, this.#owner.owner, Date.now())
  }

  /** Writes what was acknowledged to the disk of this node. */
  async flush(): Promise<void> {
    await this.#watch?.file.flush()
  }

  async release(): Promise<void> {
    await this.#options.table.release(this.#chain, this.#owner.owner, Date.now())
  }

  /** Whether nothing is lost, or the loss was accepted. The shortened chain is not extended again. */
  async isComplete(): Promise<boolean> {
    try {
      await this.#watch?.refuseLoss()
      return true
    } catch (error) {
      if (!(error instanceof AcknowledgedRowsLost)) throw error
    }
    const open = await this.#watch?.findOpen()
    if (open && !this.#options.losses?.isRecorded) return false
    await this.#claim()
    if (open) await this.recordLoss(open)
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
    if (this.#watch) await this.#watch.refuseLoss()
    else await refuseLostRows(table, this.#chain, this.#acknowledged)
    if (!isMine) await this.#claim()
    return (await table.head(this.#chain)) ?? EMPTY_HEAD
  }

  async #claim(): Promise<void> {
    const { node, owner } = this.#owner
    this.#chain = await claimChain(this.#options.table, node, owner)
    this.#head = undefined
    this.#acknowledged = undefined
    this.#watch = this.#createWatch()
  }

  #createWatch(): LossWatch | undefined {
    return this.#options.losses && createLossWatch(this.#options, this.#options.losses, this.#chain)
  }
}
