import { join } from 'node:path'
import { UserError } from '../errors.ts'
import {
  type AcknowledgedFile,
  type AcknowledgedRow,
  createAcknowledgedFile,
  listAcknowledged,
  readAcknowledged,
  removeAcknowledged,
} from './acknowledged-file.ts'
import type { AuditStore } from './audit-store.ts'
import type { AuditTable } from './audit-table.ts'
import { isInUse } from './chain-claim.ts'
import { findShortened } from './checkpoint.ts'
import { CHECKPOINT_FILE } from './checkpoint-folder.ts'
import type { Loss, LossTable } from './loss-table.ts'
import type { AuditEntry } from './row.ts'
import type { Signer } from './signing.ts'

type OpenedLog = {
  readonly table: AuditTable
  readonly dataDir: string
  readonly checkpointDir: string
  readonly losses?: LossOptions | undefined
}

/**
 * Compares the log with what this node has acknowledged and signed, at the start. Returns the losses whose statement the server
 * is to write; throws if an operator must act first.
 */
export async function findOpenLosses(log: OpenedLog): Promise<Loss[]> {
  const { table, dataDir, checkpointDir, losses: options } = log
  const shortened = await findShortened(table, checkpointDir)
  if (!options) return refuseOlder(shortened, checkpointDir)
  const found = [...shortened, ...(await findLosses(table, dataDir))]
  for (const loss of found) {
    await options.losses.insert(loss, Date.now())
    if (await options.losses.isAccepted(loss)) await removeAcknowledged(dataDir, loss.chain)
  }
  await forgetRetired(log, found)
  const open = found.length > 0 ? await options.losses.list('open') : []
  if (open.length > 0 && !options.isRecorded) refuse(open, options)
  return open
}

/**
 * Notes the losses that this node would find at its start, so that an operator can accept them, also those of a log that was
 * replaced by an older one. Called before a chain is claimed: one that lacks rows is not extended.
 */
export async function noteLosses({
  table,
  dataDir,
  checkpointDir,
  losses: options,
}: OpenedLog): Promise<void> {
  if (!options) return
  const { losses } = options
  const found = [
    ...(await findShortened(table, checkpointDir, { acceptsOther: true })),
    ...(await findLosses(table, dataDir)),
  ]
  const open = await losses.list('open')
  const inUse = new Set((await table.chains()).filter(isInUse).map(({ chain }) => chain))
  const noted: Loss[] = []
  for (const loss of found) {
    // Its server would not notice that it is retired.
    const isExtended = inUse.has(loss.chain) && !isListed(open, loss) && !(await losses.isAccepted(loss))
    // It finds the loss itself, as those have that are reported.
    if (isExtended && open.length === 0)
      throw new UserError(
        `Rows of chain ${loss.chain} are missing, and a server extends it, or did so in the last three minutes. Stop all servers, and run this again.`,
      )
    if (!isExtended) noted.push(loss)
  }
  for (const loss of noted) await losses.insert(loss, Date.now())
}

const isListed = (list: readonly Loss[], { chain, kept }: Loss) =>
  list.some((each) => each.chain === chain && each.kept === kept)

type Folders = { readonly dataDir: string; readonly checkpointDir: string }

/** All losses that no operator has accepted: those that servers have found, and those that this node would find at its start. */
export async function listUnacceptedLosses(
  store: AuditStore,
  { dataDir, checkpointDir }: Folders,
): Promise<Loss[]> {
  if (store.database.dialect === 'sqlite') {
    await refuseOlderStore(store, checkpointDir)
    return []
  }
  const { audit, losses } = store
  const found = [...(await findShortened(audit, checkpointDir)), ...(await findLosses(audit, dataDir))]
  const open = await losses.list('open')
  for (const loss of found) {
    if (!isListed(open, loss) && !(await losses.isAccepted(loss))) open.push(loss)
  }
  return open
}

/** The lost rows in words. */
export function toLossRanges(losses: readonly Loss[]): string {
  const rows = losses.map(
    ({ chain, kept, acknowledged }) => `chain ${chain}, rows ${kept + 1} to ${acknowledged}`,
  )
  return [...new Set(rows)].join('; ')
}

/** The last row of a retired chain is signed: what was acknowledged on it need not be kept, if nothing of it is lost. */
async function forgetRetired({ table, dataDir }: OpenedLog, lost: readonly Loss[]): Promise<void> {
  const files = new Set(await listAcknowledged(dataDir))
  for (const { chain, isRetired } of files.size > 0 ? await table.chains() : [])
    if (isRetired && files.has(chain) && !lost.some((loss) => loss.chain === chain))
      await removeAcknowledged(dataDir, chain)
}

/** Refuses to sign a log that lacks signed rows, unless their loss was accepted. */
export async function refuseOlderStore({ audit, losses }: AuditStore, checkpointDir: string): Promise<void> {
  for (const loss of await findShortened(audit, checkpointDir))
    if (!(await losses.isAccepted(loss))) refuseOlder([loss], checkpointDir)
}

/** On SQLite nothing fails over: an older copy was put in place. */
function refuseOlder([first]: readonly Loss[], checkpointDir: string): Loss[] {
  if (!first) return []
  const file = join(checkpointDir, CHECKPOINT_FILE)
  throw new UserError(
    `The audit log in the database is shorter than the last checkpoint in ${file} says (chain ${first.chain}, row ${first.acknowledged}). Rows are missing or an older copy was restored. If that was intended, move the file away.`,
  )
}

function refuse(open: readonly Loss[], { onLoss }: LossOptions): never {
  for (const loss of open) onLoss(loss)
  throw new UserError(
    `The database has lost audit rows that were acknowledged (${toLossRanges(open)}), as after a failover to an asynchronous standby or the restore of a backup. If this is the right database, run: tabbat audit accept-loss`,
  )
}

type Rows = Pick<AuditTable, 'find' | 'head'>
type Log = Rows & Pick<AuditTable, 'chains'>

/** The rows of a chain that were acknowledged by this node and are no longer in the database, if there are any. */
export async function findLoss(table: Rows, dataDir: string, chain: string): Promise<Loss | undefined> {
  const rows = await readAcknowledged(dataDir, chain)
  const last = rows.at(-1)
  if (!last || (await holds(table, chain, last))) return undefined
  const first = await findFirstMissing(table, chain, rows)
  // Other nodes may have extended the chain between rows of this one, or after the loss.
  const head = (await table.head(chain))?.sequence ?? 0
  const kept = Math.min(head, (rows[first] ?? last).sequence - 1)
  const references = rows.slice(first).flatMap(({ reference }) => reference ?? [])
  return { chain, kept, acknowledged: last.sequence, references: [...new Set(references)] }
}

/** Of all chains that this node has extended. The rows of archived chains are not lost. */
export async function findLosses(table: Log, dataDir: string): Promise<Loss[]> {
  const losses: Loss[] = []
  const extended = await listAcknowledged(dataDir)
  const chains = extended.length > 0 ? await table.chains() : []
  const archived = new Set(chains.filter(({ isArchived }) => isArchived).map(({ chain }) => chain))
  for (const chain of extended.filter((each) => !archived.has(each))) {
    const loss = await findLoss(table, dataDir, chain)
    if (loss) losses.push(loss)
  }
  return losses
}

/** Rows are linked, so that no row after a missing one is there: a binary search. */
async function findFirstMissing(
  table: Rows,
  chain: string,
  rows: readonly AcknowledgedRow[],
): Promise<number> {
  let [low, high] = [0, rows.length - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = rows[middle]
    if (row && (await holds(table, chain, row))) low = middle + 1
    else high = middle
  }
  return low
}

async function holds(table: Rows, chain: string, { sequence, hash }: AcknowledgedRow): Promise<boolean> {
  const row = await table.find(chain, sequence)
  return row !== undefined && Buffer.from(row.hash).toString('hex') === hash
}

/** Refuses to extend a chain that has lost acknowledged rows, as after a failover to a standby that lagged. */
export class AcknowledgedRowsLost extends Error {
  constructor({ chain, kept, acknowledged }: Loss) {
    super(`chain ${chain}: rows ${kept + 1} to ${acknowledged} were acknowledged and are missing`)
    this.name = 'AcknowledgedRowsLost'
  }
}

export type LossOptions = {
  readonly losses: LossTable
  /** Whether the statement of a loss is written without an operator. */
  readonly isRecorded: boolean
  /** The author of such a statement. */
  readonly by: string
  /** Called for each loss that is found, and again if it turns out larger. */
  readonly onLoss: (loss: Loss) => void
}

/** Keeps what was acknowledged, and compares it with the database after a failure. */
export type LossWatch = {
  readonly file: AcknowledgedFile
  /** Records the loss in the database; undefined if every acknowledged row is there. */
  readonly findLoss: () => Promise<AcknowledgedRowsLost | undefined>
  /** The loss that is not accepted yet. */
  readonly findOpen: () => Promise<Loss | undefined>
}

type WatchedLog = { readonly table: AuditTable; readonly dataDir: string }

/** For one chain. */
export function createLossWatch(
  { table, dataDir }: WatchedLog,
  { losses, onLoss }: LossOptions,
  chain: string,
): LossWatch {
  const file = createAcknowledgedFile(dataDir, chain)
  let found: Loss | undefined
  return {
    file,
    findLoss: async () => {
      await file.flush()
      const loss = await findLoss(table, dataDir, chain)
      if (!loss) return undefined
      await losses.insert(loss, Date.now())
      if (!found || found.acknowledged < loss.acknowledged) onLoss(loss)
      found = loss
      return new AcknowledgedRowsLost(loss)
    },
    findOpen: async () => {
      if (!found || !(await losses.isAccepted(found))) return found
      await removeAcknowledged(dataDir, chain)
      found = undefined
      return undefined
    },
  }
}

/** The phase of a row that states a loss. */
const LOG_SHORTENED = 'log_shortened'

const REFERENCES_IN_A_ROW = 1000

type Acceptance = {
  readonly losses: Pick<LossTable, 'accept'>
  readonly signer: Signer
  readonly record: (entries: readonly AuditEntry[]) => Promise<void>
  /** Who accepts it. */
  readonly by: string
}

/** Writes signed statements of a loss to the audit log, and then accepts it. */
export async function acceptLoss(loss: Loss, { losses, signer, record, by }: Acceptance): Promise<void> {
  const { chain, kept, acknowledged, references } = loss
  for (let start = 0; start === 0 || start < references.length; start += REFERENCES_IN_A_ROW) {
    const named = references.slice(start, start + REFERENCES_IN_A_ROW)
    const time = new Date().toISOString()
    const text = JSON.stringify({ chain, kept, acknowledged, references: named, time, by })
    await record([{ phase: LOG_SHORTENED, outcome: 'accepted', detail: `${text} ${signer.sign(text)}` }])
  }
  await losses.accept(loss, Date.now())
}
