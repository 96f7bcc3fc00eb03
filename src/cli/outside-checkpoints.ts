import { type CheckpointFile, findCheckpointFile } from '../audit/checkpoint-file.ts'
import { type CheckpointPlace, findPlace } from '../audit/checkpoint-place.ts'
import type { ComparedFile } from '../audit/verdict-text.ts'
import { loadConfig } from '../config/config.ts'
import { UserError } from '../errors.ts'
import { withWitnessCopy } from '../witness/read-witness.ts'
import { toWitnessTarget, type WitnessTarget } from '../witness/target.ts'

type Options = { readonly checkpoints?: string; readonly witness?: true }

/** Checkpoints that were stored outside the database. */
export type OutsideCheckpoints = {
  readonly file: CheckpointFile | undefined
  readonly compared: ComparedFile | undefined
  /** By an option. It must then hold checkpoints. */
  readonly isNamed: boolean
}

/** They are read before the database, which then has every one of them. */
export async function withOutsideCheckpoints(
  { checkpoints, witness }: Options,
  work: (outside: OutsideCheckpoints) => Promise<void>,
): Promise<void> {
  if (witness !== undefined && checkpoints !== undefined)
    throw new UserError('Give --checkpoints or --witness, not both.')
  const config = loadConfig()
  if (witness === undefined) {
    const file = checkpoints === undefined ? findOwnFile() : findCheckpointFile(checkpoints)
    const compared = file && { path: file.path, place: findPlace(file.path, config) }
    return work({ file, compared, isNamed: checkpoints !== undefined })
  }
  if (config.witness === undefined) throw new UserError('No witness is configured. Set TABBAT_WITNESS.')
  const target = toWitnessTarget(config.witness, config.witnessToken)
  await withWitnessCopy(target, config.webhooksPrivate === 'on', (file) =>
    work({ file, compared: { path: file.path, place: toPlace(target) }, isNamed: true }),
  )
}

/** This server can write to all of a SQLite file, and only add to the others. */
const toPlace = ({ kind }: WitnessTarget): CheckpointPlace =>
  kind === 'sqlite' ? 'other folder' : 'elsewhere'

/** The checkpoints of this server, if they are in another folder than its data. */
function findOwnFile(): CheckpointFile | undefined {
  const { dataDir, checkpointDir = dataDir } = loadConfig()
  if (findPlace(checkpointDir, { dataDir, checkpointDir }) === 'data folder') return undefined
  try {
    return findCheckpointFile(checkpointDir)
  } catch {
    // The result says that no file was compared.
    return undefined
  }
}
