import { hash, type KeyObject } from 'node:crypto'
import type { AuditSnapshot } from '../audit-snapshot.ts'
import type { Checkpoint } from '../audit-table.ts'
import { openCheckpoint, type SignedHead } from '../open-checkpoint.ts'
import type { Fault } from '../verify/fault.ts'
import { type ArchivedChain, type ArchiveStatement, openStatement } from './archive-format.ts'
import { openArchive } from './read-archive.ts'
import { verifyArchive } from './verify-archive.ts'

/** The result for archives. */
export type ArchivesVerdict = {
  /** Those that were read and compared. */
  readonly compared: readonly ComparedArchive[]
  /** Those that the database names, and of which no file was given. */
  readonly missing: readonly Pick<ArchiveStatement, 'number' | 'rows'>[]
  /** Archived rows that are still in the database. */
  readonly notRemoved: number
}

type ComparedArchive = { readonly path: string; readonly number: number; readonly rows: number }

export const NO_ARCHIVES: ArchivesVerdict = { compared: [], missing: [], notRemoved: 0 }

/** What archives explain: heads whose rows, and checkpoints which, are no longer in the database. */
export type VerifiedArchives = Pick<StatedArchives, 'find' | 'explains'> & {
  readonly verdict: ArchivesVerdict
  /** Whether an archive holds a checkpoint that is not in the database, as far as the files that were given show it. */
  readonly holds: (checkpoint: Checkpoint) => boolean
}

export type ArchiveOptions = {
  readonly publicKey: KeyObject
  /** The files. */
  readonly archives?: readonly string[] | undefined
  readonly onProgress?: (rows: number, total: number) => void
}

/** Reads the statements in the database and the files that were given, and compares them. Returns the first fault. */
export async function verifyArchives(
  scan: AuditSnapshot,
  options: ArchiveOptions,
): Promise<VerifiedArchives | Fault> {
  const stated = await readStatedArchives(scan, options.publicKey)
  if ('reason' in stated) return stated
  const notRemoved = await countNotRemoved(scan, stated)
  if (typeof notRemoved !== 'number') return notRemoved
  const checkpoints = createArchivedCheckpoints()
  const compared = await verifyFiles(scan, stated, options, checkpoints)
  if ('reason' in compared) return compared
  const missing = stated.list.filter(({ number }) => !compared.some((each) => each.number === number))
  return {
    find: stated.find,
    explains: stated.explains,
    verdict: { compared, missing: missing.map(({ number, rows }) => ({ number, rows })), notRemoved },
    holds: (checkpoint) => {
      const opened = openCheckpoint(checkpoint, options.publicKey)
      if ('wrong' in opened || opened.heads.length === 0) return false
      const isArchived = opened.heads.every((head) => stated.explains(head))
      return isArchived && (missing.length > 0 || checkpoints.has(checkpoint))
    },
  }
}

/** An interrupted removal leaves rows. More than the archive has were added by an attacker. */
async function countNotRemoved(scan: AuditSnapshot, { list }: StatedArchives): Promise<number | Fault> {
  let rows = 0
  for (const { chain, sequence } of list.flatMap(({ chains }) => chains)) {
    const length = await scan.lastSequence(chain)
    if (!(length <= sequence))
      return { chain, sequence: sequence + 1, reason: 'the row was added to a chain that is archived' }
    rows += length
  }
  return rows
}

async function verifyFiles(
  scan: AuditSnapshot,
  stated: StatedArchives,
  { publicKey, archives = [], onProgress }: ArchiveOptions,
  checkpoints: ArchivedCheckpoints,
): Promise<readonly ComparedArchive[] | Fault> {
  const compared: ComparedArchive[] = []
  for (const path of archives) {
    const file = await openArchive(path)
    let rows = 0
    const total = openStatement(file.signed, publicKey)?.rows ?? 0
    const onRows = (more: number) => {
      rows += more
      onProgress?.(rows, total)
    }
    try {
      const result = await verifyArchive(file, { publicKey, onRows, onCheckpoint: checkpoints.add })
      const fault = 'reason' in result ? result : await compare(scan, stated, path, result)
      if (fault) return fault
      if ('digest' in result && isStated(stated, result))
        compared.push({ path, number: result.number, rows: result.rows })
    } finally {
      await file.close()
    }
  }
  return compared
}

/** A run that was interrupted leaves a complete file that the database does not name, with rows that it still has. */
async function compare(
  scan: AuditSnapshot,
  stated: StatedArchives,
  path: string,
  statement: ArchiveStatement,
): Promise<Fault | undefined> {
  if (isStated(stated, statement)) return undefined
  for (const { chain, sequence, hash: last } of statement.chains) {
    const [found] = await scan.hashes(chain, sequence - 1, sequence)
    if (found !== last && stated.find(chain)?.hash !== last)
      return {
        chain,
        sequence,
        reason: `the row is missing: it is in ${path}, an archive that the database does not name. An older copy of the database was restored`,
      }
  }
  return undefined
}

const isStated = ({ list }: StatedArchives, { digest }: ArchiveStatement) =>
  list.some((each) => each.digest === digest)

type ArchivedCheckpoints = {
  readonly add: (checkpoint: Checkpoint) => void
  readonly has: (checkpoint: Checkpoint) => boolean
}

/** By a part of their hash: there may be half a million for a year. */
function createArchivedCheckpoints(): ArchivedCheckpoints {
  const known = new Set<string>()
  const toKey = ({ time, body, signature }: Checkpoint) =>
    hash('sha256', JSON.stringify([time, body, signature]), 'base64url').slice(0, 20)
  return {
    add: (checkpoint) => void known.add(toKey(checkpoint)),
    has: (checkpoint) => known.has(toKey(checkpoint)),
  }
}

/** The archives that the database names, by their signed statements. */
export type StatedArchives = {
  readonly list: readonly ArchiveStatement[]
  /** The last row of a chain whose rows are in an archive. */
  readonly find: (chain: string) => ArchivedChain | undefined
  /** Whether the rows of a head are in an archive. The last one is compared with the statement. */
  readonly explains: (head: Pick<SignedHead, 'chain' | 'sequence' | 'hash'>) => boolean
}

/** A statement that is changed, or missing before another, is a fault. */
async function readStatedArchives(
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
