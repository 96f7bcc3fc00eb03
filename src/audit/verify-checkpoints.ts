import type { KeyObject } from 'node:crypto'
import type { AuditSnapshot } from '../store/audit-snapshot.ts'
import { type CheckpointFile, readCheckpoints } from './checkpoint-file.ts'
import { type CheckpointVerifier, createCheckpointVerifier } from './checkpoint-verifier.ts'
import type { Fault } from './verify-chain.ts'

export type CheckpointOptions = {
  readonly publicKey: KeyObject
  readonly file?: CheckpointFile | undefined
}

export type CheckpointsVerdict = {
  readonly fault: Fault | undefined
  readonly checkpoints: number
  /** Rows that at least one good checkpoint speaks for. */
  readonly signedRows: number
  readonly file: FileVerdict
}

/** What the file had to say, where there is one. */
type FileVerdict = {
  readonly checkpoints: number
  readonly unreadable: number
  readonly last: string | undefined
}

/** Holds all checkpoints, those of the database and those of the file, against the rows. */
export async function verifyCheckpoints(
  scan: AuditSnapshot,
  { publicKey, file }: CheckpointOptions,
): Promise<CheckpointsVerdict> {
  const statements = createCheckpointVerifier(scan, publicKey)
  const seen = { checkpoints: 0, unreadable: 0, last: undefined }
  const fault =
    (await verifyStored(scan, statements)) ?? (file && (await verifyFile(scan, statements, file, seen)))
  return { fault, checkpoints: statements.count(), signedRows: statements.signedRows(), file: seen }
}

async function verifyStored(scan: AuditSnapshot, statements: CheckpointVerifier): Promise<Fault | undefined> {
  for await (const page of scan.checkpoints())
    for (const checkpoint of page) {
      const fault = await statements.check(checkpoint, 'in the database')
      if (fault) return fault
    }
  return undefined
}

async function verifyFile(
  scan: AuditSnapshot,
  statements: CheckpointVerifier,
  file: CheckpointFile,
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
    // What the database has as well was checked a moment ago.
    if (await scan.hasCheckpoint(checkpoint)) continue
    const fault = await statements.check(checkpoint, `in ${file.path}`)
    if (fault) return fault
    missing ??= checkpoint.time
  }
  return missing === undefined ? undefined : { chain: null, sequence: null, reason: toMissing(missing) }
}

const toMissing = (time: string) =>
  `the checkpoint of ${time} is not in the database: it was taken out, or an older copy of the database was put back`
