import { setTimeout as pause } from 'node:timers/promises'
import { UserError } from '../../errors.ts'
import type { ArchiveTable, RemovalStep } from '../archive-table.ts'

type RemovalOptions = {
  /** Ends it after a step. It is continued the next time. */
  readonly isStopped?: (() => boolean) | undefined
  readonly onStep?: ((step: 'rows' | 'blocks' | 'checkpoints') => void) | undefined
  readonly busyPauseMs?: number
}

/** Between two steps, for the requests that are waiting. */
const PAUSE_MS = 10
const BUSY_PAUSE_MS = 2000
const MOST_BUSY = 15

/** Removes from the database what recorded archives hold, in small steps. What an interrupted run left is removed first. */
export async function removeArchived(table: ArchiveTable, options: RemovalOptions = {}): Promise<void> {
  const { isStopped = () => false, onStep = () => {} } = options
  for (const { number } of (await table.list()).filter(({ removedAt }) => removedAt === undefined)) {
    await repeat(() => table.removeRows(number), 'rows', options)
    await repeat(() => table.removeBlocks(number), 'blocks', options)
    let after: string | undefined = ''
    while (after !== undefined && !isStopped()) {
      after = await table.removeCheckpoints(number, after)
      onStep('checkpoints')
      await pause(PAUSE_MS)
    }
    if (isStopped()) return
    await table.finish(number, Date.now())
  }
}

async function repeat(
  remove: () => Promise<RemovalStep>,
  name: 'rows' | 'blocks',
  { isStopped = () => false, onStep = () => {}, busyPauseMs = BUSY_PAUSE_MS }: RemovalOptions,
): Promise<void> {
  let busy = 0
  while (!isStopped()) {
    const step = await remove()
    onStep(name)
    if (step === 'done') return
    if (step === 'busy' && ++busy === MOST_BUSY) throw new UserError(BUSY)
    await pause(step === 'busy' ? busyPauseMs : PAUSE_MS)
  }
}

const BUSY =
  'The archive is complete and recorded, but its rows are still in the database: another transaction reads the audit log. Run the command again when it has ended.'
