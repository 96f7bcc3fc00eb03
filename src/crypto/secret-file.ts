import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { UserError } from '../errors.ts'

/** Other users of the machine can read or replace a file with a secret. The message says what to run. */
export class ExposedSecret extends UserError {
  override readonly name = 'ExposedSecret'
}

/**
 * `private`: only the owner may read it (root.key). `mounted`: a file named in a setting. Its group may read it, and for a
 * secret of a container everyone may: Docker and Kubernetes mount those as 0444 or 0644.
 */
type SecretKind = 'private' | 'mounted'

/** Checks the open file, so that the checked file is the one that is read. File system errors are thrown unchanged. */
export function readSecretFile(path: string, kind: SecretKind): string {
  const file = openSync(path, 'r')
  try {
    const stats = fstatSync(file)
    // A pipe, as in <(command), has no other reader.
    if (stats.isFile()) refuseExposedFile(path, stats, kind)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function refuseExposedFile(path: string, stats: Stats, kind: SecretKind): void {
  // Windows has no such modes.
  if (process.getuid === undefined) return
  refuseForeignOwner(path, stats)
  const mayRead = kind === 'private' ? 0 : isContainerSecret(path) ? 0o044 : 0o040
  const wanted = kind === 'private' ? '600' : '640'
  if ((stats.mode & 0o077 & ~mayRead) !== 0)
    throw new ExposedSecret(
      `${path} holds a secret, and other users of this machine can read or change it. Type: chmod ${wanted} ${toWord(path)}`,
    )
  refuseExposedFolder(path)
  // For a symbolic link, also the folder of its target.
  refuseExposedFolder(realpathSync(path))
}

/** Users with write access to the folder can replace the file, unless the folder has the sticky bit (/tmp). */
export function refuseExposedFolder(path: string): void {
  if (process.getuid === undefined) return
  const folder = dirname(path)
  const stats = statSync(folder)
  refuseForeignOwner(folder, stats)
  if ((stats.mode & 0o022) === 0 || (stats.mode & 0o1000) !== 0) return
  throw new ExposedSecret(
    `${path} holds a secret, and other users of this machine can replace it: they can write to its folder. Type: chmod go-w ${toWord(folder)}`,
  )
}

/** The owner of a file can change its permissions. root is trusted, and may use the files of every user. */
function refuseForeignOwner(path: string, { uid }: Stats): void {
  const own = process.getuid?.()
  if (own === undefined || own === 0 || uid === own || uid === 0) return
  throw new ExposedSecret(
    `${path} belongs to another user, who can change it. Type: sudo chown ${own} ${toWord(path)}`,
  )
}

/** For a file that may hold secrets, where a warning is enough. */
export const isReadableByAll = (path: string) =>
  process.getuid !== undefined && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0

const TMPFS = 0x01021994

/** Secrets of a container are on tmpfs (Kubernetes, Docker Swarm) or in /run/secrets (Docker Compose). */
const isContainerSecret = (path: string) =>
  process.platform === 'linux' && (/^(\/var)?\/run\/secrets\//.test(path) || statfsSync(path).type === TMPFS)

/** Quoted for a shell. */
const toWord = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)
