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

/** A file that holds a secret and that other users of the machine can read or replace. The message says what to type. */
export class ExposedSecret extends UserError {
  override readonly name = 'ExposedSecret'
}

/**
 * `private`: the owner alone may read it (root.key). `mounted`: a file that the operator names. Its group may read it, and
 * everyone may where it is a secret of a container: Docker and Kubernetes mount those as 0444 or 0644.
 */
export type SecretKind = 'private' | 'mounted'

/** The checks run on the open file, so what was checked is what is read. Errors of the file system pass through. */
export function readSecretFile(path: string, kind: SecretKind): string {
  const file = openSync(path, 'r')
  try {
    const stats = fstatSync(file)
    // A pipe, as a shell makes one for <(command), has no other reader.
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
  // Where the path is a link, also the folder that holds the file itself.
  refuseExposedFolder(realpathSync(path))
}

/** Others who may write to the folder can replace the file. In a folder with the sticky bit (/tmp) they cannot. */
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

/** The owner of a file can always give permissions to others. root is trusted, and may use the files of every user. */
function refuseForeignOwner(path: string, { uid }: Stats): void {
  const own = process.getuid?.()
  if (own === undefined || own === 0 || uid === own || uid === 0) return
  throw new ExposedSecret(
    `${path} belongs to another user, who can change what is in it. Type: sudo chown ${own} ${toWord(path)}`,
  )
}

/** For a file that may hold secrets beside other things, where a warning is enough. */
export const isReadableByAll = (path: string) =>
  process.getuid !== undefined && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0

const TMPFS = 0x01021994

/** Secrets of a container lie in memory (Kubernetes, Docker Swarm) or in /run/secrets (Docker Compose). */
const isContainerSecret = (path: string) =>
  process.platform === 'linux' && (/^(\/var)?\/run\/secrets\//.test(path) || statfsSync(path).type === TMPFS)

/** As a shell takes it for one word. */
const toWord = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`)
