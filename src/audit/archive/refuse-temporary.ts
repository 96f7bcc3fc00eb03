import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { UserError } from '../../errors.ts'
import { readEnvironment } from '../../settings/environment.ts'

/** What systemd deletes with a unit: its own /tmp and /var/tmp, and the files of its user in /dev/shm. */
const DELETED = ['/tmp', '/var/tmp', '/dev/shm']

/**
 * Refuses a file that systemd would delete when the process ends. CREDENTIALS_DIRECTORY is set in the units that have the root key
 * as a credential, as all of deploy/systemd do, and not in a shell.
 */
export function refuseTemporary(path: string): void {
  if (readEnvironment().CREDENTIALS_DIRECTORY === undefined) return
  const real = toReal(resolve(path))
  if (!DELETED.some((folder) => real.startsWith(`${folder}${sep}`))) return
  throw new UserError(
    `${path} is in a folder for temporary files, which systemd deletes when this process ends. No audit row was removed. Give a file in /var/lib/tabbat-archive.`,
  )
}

/** Without symbolic links, as far as the path exists. */
function toReal(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(toReal(parent), basename(path))
  }
}
