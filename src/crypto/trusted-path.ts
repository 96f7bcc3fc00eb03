import { lstatSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { isAbsolute, join, parse, sep } from 'node:path'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { UserError } from '../errors.ts'

/** Another user of the machine could change what this program reads or runs. The message says what to type. */
export class UntrustedPath extends UserError {
  override readonly name = 'UntrustedPath'
}

const GROUP_WRITES = 0o020
const OTHERS_WRITE = 0o002
const STICKY = 0o1000
const MAX_LINKS = 40
/** On macOS, members of this group may become root. */
const MACOS_ADMIN = 80

/**
 * Refuses a path of which another user can change a part: the file or folder itself, a folder above it, or a symbolic link on the
 * way. Each must belong to a trusted user, and others must not write to it. In a folder with the sticky bit (/tmp), others
 * cannot replace what is not theirs. What does not exist yet is not checked.
 */
export function refuseUntrustedPath(path: string): void {
  // Windows has no such owners and modes.
  if (process.geteuid === undefined) return
  for (const [part, stats] of listParts(toAbsolute(path))) refuseUntrustedStats(part, stats)
}

/** For the data folder: others may not even add files to it, so that the sticky bit does not help. */
export function refuseUntrustedFolder(folder: string): void {
  refuseUntrustedPath(folder)
  const stats = statReachable(folder)
  if (stats && process.geteuid !== undefined) refuseWriters(folder, stats)
}

function statReachable(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    throw new UserError(
      `This user may not look into a folder above ${folder}. Run this as the user of the server, or give this user access.`,
    )
  }
}

/** Checks one file or folder by what is known about it, for example from its open descriptor. */
export function refuseUntrustedStats(path: string, stats: Stats): void {
  if (process.geteuid === undefined) return
  refuseForeignOwner(path, stats)
  const isShared = stats.isDirectory() && (stats.mode & STICKY) !== 0
  // The mode of a symbolic link has no meaning.
  if (!isShared && !stats.isSymbolicLink()) refuseWriters(path, stats)
}

function refuseWriters(path: string, { mode, gid }: Stats): void {
  const isOpen = (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && !isTrustedGroup(gid))
  if (isOpen)
    throw new UntrustedPath(
      `Other users of this machine can write to ${path}, and so decide what this program reads and runs. Type: chmod go-w ${toWord(path)}`,
    )
}

/** The owner of a file can change its permissions. */
export function refuseForeignOwner(path: string, { uid }: Stats): void {
  const own = process.geteuid?.()
  if (own === undefined || uid === own || uid === 0 || uid === findProgramOwner()) return
  throw new UntrustedPath(
    `${path} belongs to another user (${uid}), who can change it. Run this as that user, or type: sudo chown ${own} ${toWord(path)}`,
  )
}

/**
 * The group of root, and the group with the number of the user: systems create one for each user, and `fsGroup` of Kubernetes
 * makes volumes writable by it. Any other group may have members.
 */
const isTrustedGroup = (gid: number) =>
  gid === 0 || gid === process.geteuid?.() || (process.platform === 'darwin' && gid === MACOS_ADMIN)

let programOwner: number | undefined

/** The owner of the program can change what runs anyway: root in a checkout of another user, as in many build systems. */
function findProgramOwner(): number | undefined {
  const program = isSea() ? process.execPath : fileURLToPath(import.meta.url)
  programOwner ??= statSync(program, { throwIfNoEntry: false })?.uid
  return programOwner
}

/**
 * All folders and links from the root of the file system to the target of the path, and the target. As the system does it: `..`
 * after a link is the folder above its target.
 */
function* listParts(path: string): Generator<[path: string, stats: Stats]> {
  const { root } = parse(path)
  let [current, names, links] = [root, toNames(path), 0]
  yield [root, lstatSync(root)]
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const part = join(current, name)
    const stats = readStats(part)
    if (!stats) return
    yield [part, stats]
    if (!stats.isSymbolicLink()) current = part
    else {
      // Opening the path fails with a message of its own.
      if (++links > MAX_LINKS) return
      const target = readlinkSync(part)
      names = [...toNames(target), ...names]
      if (isAbsolute(target)) current = root
    }
  }
}

const toNames = (path: string) => path.split(sep).filter((name) => name !== '' && name !== '.')

/** Not normalized: see listParts. */
const toAbsolute = (path: string) => (isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`)

/** Undefined if there is nothing, or nothing that this user can reach. */
function readStats(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

/** Quoted for a shell. */
export const toWord = (path: string) =>
  /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
