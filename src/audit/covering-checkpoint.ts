import type { KeyObject } from 'node:crypto'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { ArchivedLog } from './archive/archived-log.ts'
import { type AuditSnapshot, withAuditSnapshot } from './audit-snapshot.ts'
import type { AuditStore } from './audit-store.ts'
import type { Checkpoint } from './audit-table.ts'
import { openCheckpoint, type SignedHead } from './open-checkpoint.ts'

/** A checkpoint, and its statement about the rows of a chain among which a row is. */
export type Covering = { readonly checkpoint: Checkpoint; readonly head: SignedHead }

/** Nearly always one of the first checkpoints after the row covers it. */
const FIRST_LOOK = 4

/** The log, and its archives: the checkpoints of an archived row are in its archive. */
export type LogWithArchives = {
  readonly store: AuditStore
  readonly archived?: Pick<ArchivedLog, 'has' | 'checkpoints'> | undefined
}

/** The first checkpoint whose Merkle tree has the row. */
export async function findCovering(
  { store, archived }: LogWithArchives,
  publicKey: KeyObject,
  row: LoggedRow,
): Promise<Covering | undefined> {
  const found =
    archived?.has(row.chain) && (await findIn(archived.checkpoints(row.chain, row.time), publicKey, row))
  if (found) return found
  for (const checkpoint of await store.audit.checkpointsFrom(row.time, FIRST_LOOK)) {
    const covering = toCovering(checkpoint, publicKey, row)
    if (covering) return covering
  }
  return withAuditSnapshot(store, async (scan) => {
    // A checkpoint is later than its rows, unless the clock was set back.
    return (await findAfter(scan, publicKey, row, row.time)) ?? (await findAfter(scan, publicKey, row, ''))
  })
}

const findAfter = (scan: AuditSnapshot, publicKey: KeyObject, row: LoggedRow, after: string) =>
  findIn(scan.checkpoints(after), publicKey, row)

async function findIn(
  pages: AsyncIterable<readonly Checkpoint[]>,
  publicKey: KeyObject,
  row: LoggedRow,
): Promise<Covering | undefined> {
  for await (const page of pages)
    for (const checkpoint of page) {
      const covering = toCovering(checkpoint, publicKey, row)
      if (covering) return covering
    }
  return undefined
}

function toCovering(checkpoint: Checkpoint, publicKey: KeyObject, row: LoggedRow): Covering | undefined {
  // A signature takes much longer to check.
  if (!checkpoint.body.includes(row.chain)) return undefined
  const opened = openCheckpoint(checkpoint, publicKey)
  const head = 'heads' in opened ? opened.heads.find((each) => covers(each, row)) : undefined
  return head && { checkpoint, head }
}

export const covers = (
  { chain, from, sequence }: SignedHead,
  row: Pick<LoggedRow, 'chain' | 'sequence'>,
): boolean => chain === row.chain && from < row.sequence && row.sequence <= sequence
