import type { KeyObject } from 'node:crypto'
import type { AuditSnapshot } from '../audit-snapshot.ts'
import type { SignedHead } from '../open-checkpoint.ts'
import type { Fault } from '../verify-chain.ts'
import { type ArchivedChain, type ArchiveStatement, openStatement } from './archive-statement.ts'

/** The archives that the database names, by their signed statements. */
export type StatedArchives = {
  readonly list: readonly ArchiveStatement[]
  /** The last row of a chain whose rows are in an archive. */
  readonly find: (chain: string) => ArchivedChain | undefined
  /** Whether the rows of a head are in an archive. The last one is compared with the statement. */
  readonly explains: (head: Pick<SignedHead, 'chain' | 'sequence' | 'hash'>) => boolean
}

/** A statement that is changed, or missing before another, is a fault. */
export async function readStatedArchives(
  scan: Pick<AuditSnapshot, 'archives'>,
  publicKey: KeyObject,
): Promise<StatedArchives | Fault> {
  const list: ArchiveStatement[] = []
  for (const [number, statement, signature] of await scan.archives()) {
    const opened = openStatement({ statement, signature }, publicKey)
    if (!opened || opened.number !== Number(number))
      return toFault(`the statement of archive ${Number(number)} has no valid signature`)
    const before = list.at(-1)
    if (opened.number !== list.length + 1 || opened.previous !== (before?.digest ?? null))
      return toFault(`the statement of the archive before archive ${opened.number} is missing`)
    list.push(opened)
  }
  const chains = new Map(list.flatMap((archive) => archive.chains.map((end) => [end.chain, end])))
  const find = (chain: string) => chains.get(chain)
  return {
    list,
    find,
    explains: ({ chain, sequence, hash }) => {
      const end = find(chain)
      if (!end || sequence > end.sequence) return false
      return sequence < end.sequence || hash === end.hash
    },
  }
}

const toFault = (reason: string): Fault => ({ chain: null, sequence: null, reason })
