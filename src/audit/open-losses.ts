import { join } from 'node:path'
import { UserError } from '../errors.ts'
import { listAcknowledged, removeAcknowledged } from './acknowledged-file.ts'
import type { AuditStore } from './audit-store.ts'
import type { AuditTable } from './audit-table.ts'
import { findShortened } from './checkpoint.ts'
import { CHECKPOINT_FILE } from './checkpoint-folder.ts'
import { findLosses } from './find-loss.ts'
import type { Loss } from './loss-table.ts'
import type { LossOptions } from './loss-watch.ts'

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
    const isListed = open.some(({ chain, kept }) => chain === loss.chain && kept === loss.kept)
    if (!isListed && !(await losses.isAccepted(loss))) open.push(loss)
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
    `The database has lost audit rows that were acknowledged (${toLossRanges(open)}), as after a failover to an asynchronous standby. If this is the right database, run: tabbat audit accept-loss`,
  )
}
