import { type AcknowledgedFile, createAcknowledgedFile, removeAcknowledged } from './acknowledged-file.ts'
import type { AuditTable } from './audit-table.ts'
import { findLoss } from './find-loss.ts'
import type { Loss, LossTable } from './loss-table.ts'

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
