import type { KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedRow } from '../ledger/audit-row.ts'
import type { AuditStore } from './audit-store.ts'
import type { Checkpoint } from './audit-table.ts'
import { type Covering, covers, findCovering, type LogWithArchives } from './covering-checkpoint.ts'
import { buildMerkleTree, type MerkleTree, type Step } from './merkle.ts'

/** The checkpoint that covers a row, and the path from the row to its signed root. */
type RowProof = { readonly checkpoint: Checkpoint; readonly path: readonly Step[] }

type Tree = Covering & { readonly tree: MerkleTree }

/** Rows are read chain by chain backwards, so a few trees are enough. Each has up to some 10 000 rows. */
const MOST_TREES = 16
const HASHES_AT_ONCE = 1000

/**
 * Proves many rows: each tree is built once. Undefined when no checkpoint covers the row, or when rows that it covers are
 * missing or were changed. `signNow` makes a checkpoint; it is called at most once, for rows that were written after the last one.
 */
export function createRowProver(
  log: LogWithArchives,
  publicKey: KeyObject,
  signNow: () => Promise<void>,
): (row: LoggedRow) => Promise<RowProof | undefined> {
  const trees: Tree[] = []
  let isSigned = false
  const findNow = async (row: LoggedRow) => {
    const covering = await findCovering(log, publicKey, row)
    if (covering || isSigned) return covering
    isSigned = true
    await signNow()
    return findCovering(log, publicKey, row)
  }
  const open = async (row: LoggedRow): Promise<Tree | undefined> => {
    const known = trees.find(({ head }) => covers(head, row))
    if (known) return known
    const covering = await findNow(row)
    if (!covering) return undefined
    const made = { ...covering, tree: await buildMerkleTree(readHashes(log.store, covering)) }
    trees.unshift(made)
    trees.splice(MOST_TREES)
    return made
  }
  return async (row) => {
    const { head, tree, checkpoint } = (await open(row)) ?? {}
    if (!head || !tree || !checkpoint || tree.root !== head.root) return undefined
    return { checkpoint, path: tree.pathOf(row.sequence - head.from - 1) }
  }
}

async function* readHashes({ audit }: AuditStore, { head: { chain, from, sequence } }: Covering) {
  for (let after = from; after < sequence; after += HASHES_AT_ONCE) {
    // SQLite answers synchronously: let other work run between two pages.
    await nextTurn()
    yield await audit.hashes(chain, after, Math.min(after + HASHES_AT_ONCE, sequence))
  }
}
