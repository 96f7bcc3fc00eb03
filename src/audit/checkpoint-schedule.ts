import type { AuditTable } from './audit-table.ts'
import { makeCheckpoint } from './checkpoint.ts'
import type { RecentRows } from './recent-rows.ts'
import type { Signer } from './signing.ts'

/** Counts the rows since the last checkpoint, and makes the next one when it is due. */
export type CheckpointSchedule = {
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

export function createCheckpointSchedule(
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
