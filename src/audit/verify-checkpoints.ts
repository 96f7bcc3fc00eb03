import type { KeyObject } from 'node:crypto'
import type { AuditSnapshot } from '../store/audit-snapshot.ts'
import { type CheckpointFile, readCheckpoints } from './checkpoint-file.ts'
import { type CheckpointVerifier, createCheckpointVerifier } from './checkpoint-verifier.ts'
import type { Fault } from './verify-chain.ts'
import { readStatedLosses, type StatedLoss, type StatedLosses } from './verify-losses.ts'

export type CheckpointOptions = {
  readonly publicKey: KeyObject
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
}

/** The result for the file, if one was given. */
type FileVerdict = {
  readonly checkpoints: number
  /** Incomplete lines, which were skipped. */
  readonly unreadable: number
  readonly last: string | undefined
}

/** Compares all checkpoints, of the database and of the file, with the rows. */
export async function verifyCheckpoints(
  scan: AuditSnapshot,
  { publicKey, file }: CheckpointOptions,
): Promise<CheckpointsVerdict> {
  const seen = { checkpoints: 0, unreadable: 0, last: undefined }
  const stated = await readStatedLosses(scan, publicKey)
  if ('reason' in stated) return { fault: stated, checkpoints: 0, signedRows: 0, file: seen, losses: [] }
  const verifier = createCheckpointVerifier(scan, publicKey, stated)
  const fault =
    (await verifyStored(scan, verifier)) ?? (file && (await verifyFile(scan, verifier, file, stated, seen)))
  return {
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

async function verifyFile(
  scan: AuditSnapshot,
  verifier: CheckpointVerifier,
  file: CheckpointFile,
  stated: StatedLosses,
  seen: { -readonly [Name in keyof FileVerdict]: FileVerdict[Name] },
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
    if (!stated.explainsCheckpoint(checkpoint.time)) missing ??= checkpoint.time
  }
  return missing === undefined ? undefined : { chain: null, sequence: null, reason: toMissing(missing) }
}

const toMissing = (time: string) =>
  `the checkpoint of ${time} is not in the database: it was removed, or an older copy of the database was restored`
