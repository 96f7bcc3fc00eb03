import {
  type ArchiveOptions,
  type ArchivesVerdict,
  NO_ARCHIVES,
  type VerifiedArchives,
  verifyArchives,
} from './archive/verify-archives.ts'
import type { AuditSnapshot } from './audit-snapshot.ts'
import { type CheckpointFile, readCheckpoints } from './checkpoint-file.ts'
import { type CheckpointVerifier, createCheckpointVerifier } from './checkpoint-verifier.ts'
import type { Fault } from './verify-chain.ts'
import { findOpenLoss, readStatedLosses, type StatedLoss, type StatedLosses } from './verify-losses.ts'

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
