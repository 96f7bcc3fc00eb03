import type { KeyObject } from 'node:crypto'
import type { StatedArchives } from '../archive/verify-archives.ts'
import {
  type ArchiveOptions,
  type ArchivesVerdict,
  NO_ARCHIVES,
  type VerifiedArchives,
  verifyArchives,
} from '../archive/verify-archives.ts'
import type { AuditSnapshot } from '../audit-snapshot.ts'
import type { Checkpoint } from '../audit-table.ts'
import { type CheckpointFile, readCheckpoints } from '../checkpoint-file.ts'
import { isCount, isSameHead, isSigned, openCheckpoint, type SignedHead } from '../open-checkpoint.ts'
import type { Fault } from './fault.ts'
import { createTree } from './merkle-tree.ts'

export type CheckpointOptions = ArchiveOptions & {
  readonly file?: CheckpointFile | undefined
}

export type CheckpointsVerdict = {
  readonly fault: Fault | undefined
  readonly checkpoints: number
  /** Rows covered by at least one good checkpoint. */
  readonly signedRows: number
  readonly file: FileVerdict
  /** Rows whose loss is stated in the log. */
  readonly losses: readonly StatedLoss[]
  readonly archives: ArchivesVerdict
  /** Chains whose rows are in archives. */
  readonly isArchived: (chain: string) => boolean
}

/** The result for the file, if one was given. */
type FileVerdict = {
  readonly checkpoints: number
  /** Incomplete lines, which were skipped. */
  readonly unreadable: number
  readonly last: string | undefined
}

/** The checkpoints are not checked when a row is faulty. */
export const toUnchecked = (fault: Fault): CheckpointsVerdict => ({
  fault,
  checkpoints: 0,
  signedRows: 0,
  file: { checkpoints: 0, unreadable: 0, last: undefined },
  losses: [],
  archives: NO_ARCHIVES,
  isArchived: () => false,
})

/** Compares all checkpoints, of the database and of the file, with the rows, which may be in archives. */
export async function verifyCheckpoints(
  scan: AuditSnapshot,
  options: CheckpointOptions,
): Promise<CheckpointsVerdict> {
  const { publicKey, file } = options
  const seen = { checkpoints: 0, unreadable: 0, last: undefined }
  const stated = await readStatedLosses(scan, publicKey)
  if ('reason' in stated) return toUnchecked(stated)
  const archives = await verifyArchives(scan, options)
  if ('reason' in archives) return toUnchecked(archives)
  const verifier = createCheckpointVerifier(scan, publicKey, stated, archives)
  const fault =
    (await findOpenLoss(scan)) ??
    (await verifyStored(scan, verifier)) ??
    (file && (await verifyFile(scan, verifier, file, { stated, archives, seen })))
  return {
    archives: archives.verdict,
    isArchived: (chain) => archives.find(chain) !== undefined,
    fault,
    checkpoints: verifier.count(),
    signedRows: verifier.signedRows(),
    file: seen,
    losses: stated.losses,
  }
}

async function verifyStored(scan: AuditSnapshot, verifier: CheckpointVerifier): Promise<Fault | undefined> {
  for await (const page of scan.checkpoints())
    for (const checkpoint of page) {
      const fault = await verifier.check(checkpoint, 'in the database')
      if (fault) return fault
    }
  return undefined
}

type FileDeps = {
  readonly stated: StatedLosses
  readonly archives: VerifiedArchives
  readonly seen: { -readonly [Name in keyof FileVerdict]: FileVerdict[Name] }
}

async function verifyFile(
  scan: AuditSnapshot,
  verifier: CheckpointVerifier,
  file: CheckpointFile,
  { stated, archives, seen }: FileDeps,
): Promise<Fault | undefined> {
  let missing: string | undefined
  for await (const checkpoint of readCheckpoints(file)) {
    if (!checkpoint) {
      seen.unreadable += 1
      continue
    }
    seen.checkpoints += 1
    seen.last = checkpoint.time
    // A checkpoint that is also in the database was checked before.
    if (await scan.hasCheckpoint(checkpoint)) continue
    const fault = await verifier.check(checkpoint, `in ${file.path}`)
    if (fault) return fault
    if (!stated.explainsCheckpoint(checkpoint.time) && !archives.holds(checkpoint))
      missing ??= checkpoint.time
  }
  return missing === undefined ? undefined : { chain: null, sequence: null, reason: toMissing(missing) }
}

const toMissing = (time: string) =>
  `the checkpoint of ${time} is not in the database: it was removed, or an older copy of the database was restored`

/** Compares checkpoints with rows whose links were checked before. */
type CheckpointVerifier = {
  readonly check: (checkpoint: Checkpoint, where: string) => Promise<Fault | undefined>
  readonly count: () => number
  /** Rows covered by at least one good checkpoint. */
  readonly signedRows: () => number
}

const HASHES_AT_ONCE = 1000

function createCheckpointVerifier(
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

/** An invalid time is not shown: it may hold anything. */
const toName = (time: unknown, where: string) =>
  typeof time === 'string' && /^[0-9T:.Z-]{20,30}$/.test(time)
    ? `the checkpoint of ${time} ${where}`
    : `a checkpoint ${where}`

/** A loss that a row `log_shortened` states: rows after `kept`, up to `acknowledged`. */
export type StatedLoss = {
  readonly chain: string
  readonly kept: number
  readonly acknowledged: number
  /** When it was accepted. */
  readonly time: string
  readonly by: string
}

type StatedLosses = {
  readonly losses: readonly StatedLoss[]
  /** Whether a statement explains that the rows of a head are missing. */
  readonly explains: (head: Pick<SignedHead, 'chain' | 'sequence'>) => boolean
  /** Whether a checkpoint of that time may have been lost with the rows. */
  readonly explainsCheckpoint: (time: string) => boolean
}

/** Reads the statements. One without a valid signature is a fault. */
async function readStatedLosses(scan: AuditSnapshot, publicKey: KeyObject): Promise<StatedLosses | Fault> {
  const losses: StatedLoss[] = []
  for (const [chain, sequence, detail] of await scan.lossStatements()) {
    const loss = readStatement(String(detail), publicKey)
    if (!loss)
      return {
        chain: String(chain),
        sequence: Number(sequence),
        reason: 'the row states a loss of rows without a valid signature',
      }
    losses.push(loss)
  }
  return {
    losses,
    explains: ({ chain, sequence }) =>
      losses.some((loss) => loss.chain === chain && loss.kept < sequence && sequence <= loss.acknowledged),
    explainsCheckpoint: (time) => losses.some((loss) => time <= loss.time),
  }
}

/** Rows that a server found missing, and whose loss no operator has accepted. */
async function findOpenLoss(scan: AuditSnapshot): Promise<Fault | undefined> {
  const [first] = await scan.openLosses()
  if (!first) return undefined
  const [chain, kept, acknowledged] = first
  return {
    chain: String(chain),
    sequence: Number(kept) + 1,
    reason: `rows ${Number(kept) + 1} to ${Number(acknowledged)} were acknowledged to callers and are missing, and servers refuse verifications. If the old primary can be recovered, nothing is lost; else run: tabbat audit accept-loss`,
  }
}

/** The detail of a row: a JSON text, a space, and its signature. The key also signs checkpoints, which are no statements. */
export function readStatement(detail: string, publicKey: KeyObject): StatedLoss | undefined {
  const end = detail.lastIndexOf(' ')
  const text = detail.slice(0, Math.max(end, 0))
  return isSigned(text, detail.slice(end + 1), publicKey) ? parseLoss(text) : undefined
}

function parseLoss(text: string): StatedLoss | undefined {
  try {
    const loss = JSON.parse(text) as Readonly<Record<string, unknown>>
    const { chain, kept, acknowledged, time, by } = loss
    if (![chain, time, by].every((value) => typeof value === 'string')) return undefined
    const isRange = isCount(kept) && isCount(acknowledged) && kept < acknowledged
    return isRange ? (loss as StatedLoss) : undefined
  } catch {
    return undefined
  }
}
