import { realpathSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'

/**
 * Where the checkpoints are that the log was compared with: in the data folder; in another folder to which this server writes;
 * or in a copy that this server does not write.
 */
export type CheckpointPlace = 'data folder' | 'other folder' | 'elsewhere'

type Folders = { readonly dataDir: string; readonly checkpointDir?: string | undefined }

/** The place of a file, or of a folder with checkpoints. */
export function findPlace(path: string, { dataDir, checkpointDir = dataDir }: Folders): CheckpointPlace {
  const real = toReal(path)
  if (![real, dirname(real)].includes(toReal(checkpointDir))) return 'elsewhere'
  return isInside(toReal(checkpointDir), toReal(dataDir)) ? 'data folder' : 'other folder'
}

/** A folder that does not exist holds nothing. */
function toReal(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const isInside = (path: string, folder: string) => {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`))
}
