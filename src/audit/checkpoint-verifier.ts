import type { KeyObject } from 'node:crypto'
import type { StatedArchives } from './archive/stated-archives.ts'
import type { AuditSnapshot } from './audit-snapshot.ts'
import type { Checkpoint } from './audit-table.ts'
import { openCheckpoint, type SignedHead } from './open-checkpoint.ts'
import type { Fault } from './verify-chain.ts'
import type { StatedLosses } from './verify-losses.ts'
import { createTree } from './verify-merkle.ts'

/** Compares checkpoints with rows whose links were checked before. */
export type CheckpointVerifier = {
  readonly check: (checkpoint: Checkpoint, where: string) => Promise<Fault | undefined>
  readonly count: () => number
  /** Rows covered by at least one good checkpoint. */
  readonly signedRows: () => number
}

const HASHES_AT_ONCE = 1000

export function createCheckpointVerifier(
  scan: AuditSnapshot,
  publicKey: KeyObject,
  stated: Pick<StatedLosses, 'explains'>,
  archived: Pick<StatedArchives, 'explains'>,
): CheckpointVerifier {
  /** The last good head of each chain: checkpoints repeat it while the chain has no new rows. */
  const known = new Map<string, SignedHead>()
  const signed = new Map<string, number>()
  let count = 0
  return {
    check: async (checkpoint, where) => {
      const name = toName(checkpoint.time, where)
      const opened = openCheckpoint(checkpoint, publicKey)
      if ('wrong' in opened) return { chain: null, sequence: null, reason: `${name} ${opened.wrong}` }
      for (const head of opened.heads.filter((each) => !archived.explains(each))) {
        if (isSameHead(known.get(head.chain), head)) continue
        const fault = await checkHead(scan, head, name)
        if (fault && stated.explains(head)) continue
        if (fault) return fault
        known.set(head.chain, head)
        signed.set(head.chain, Math.max(signed.get(head.chain) ?? 0, head.sequence))
      }
      count += 1
      return undefined
    },
    count: () => count,
    signedRows: () => [...signed.values()].reduce((sum, sequence) => sum + sequence, 0),
  }
}

/** Compares one head with the rows. */
export async function checkHead(
  scan: AuditSnapshot,
  head: SignedHead,
  name: string,
): Promise<Fault | undefined> {
  const { chain, sequence, hash, from, root } = head
  const tree = createTree()
  let last: string | undefined
  let count = from
  for (let after = from; after < sequence; after += HASHES_AT_ONCE) {
    for (const rowHash of await scan.hashes(chain, after, Math.min(after + HASHES_AT_ONCE, sequence))) {
      tree.add(rowHash)
      last = rowHash
      count += 1
    }
  }
  if (count === sequence && last === hash && tree.root() === root) return undefined
  return count < sequence ? toCut(head, await scan.lastSequence(chain), name) : toRewritten(head, name)
}

const toCut = ({ chain, sequence }: SignedHead, length: number, name: string): Fault => ({
  chain,
  sequence: length + 1,
  reason: `the row is missing: ${name} covers ${sequence} rows, and there are ${length}. The end was removed, or an older copy of the database was restored`,
})

const toRewritten = ({ chain, sequence, from }: SignedHead, name: string): Fault => ({
  chain,
  sequence,
  reason: `rows ${from + 1} to ${sequence} are not those that ${name} covers: they were rewritten with matching hashes`,
})

export const isSameHead = (one: SignedHead | undefined, other: SignedHead) =>
  one !== undefined &&
  one.sequence === other.sequence &&
  one.hash === other.hash &&
  one.from === other.from &&
  one.root === other.root

/** An invalid time is not shown: it may hold anything. */
const toName = (time: unknown, where: string) =>
  typeof time === 'string' && /^[0-9T:.Z-]{20,30}$/.test(time)
    ? `the checkpoint of ${time} ${where}`
    : `a checkpoint ${where}`
