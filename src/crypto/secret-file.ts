import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { UserError } from '../errors.ts'
import { refuseForeignOwner, refuseUntrustedPath, toWord, UntrustedPath } from './trusted-path.ts'

/**
 * `private`: only the owner may read it (root.key). `mounted`: a file named in a setting. Its group may read it, and for a
 * secret of a container everyone may: Docker and Kubernetes mount those as 0444 or 0644. `root`: the root key, mounted. Only
 * the group of this process may read it, and everyone only inside a container, where there are no other users.
 */
export type SecretKind = 'private' | 'mounted' | 'root'

/** Checks the open file, so that the checked file is the one that is read. File system errors are thrown unchanged. */
export function readSecretFile(path: string, kind: SecretKind, isContainer = isInContainer): string {
  // Before it is opened: opening a pipe waits for its writer.
  refuseForeignPipe(path, statSync(path))
  const file = openSync(path, 'r')
  try {
    const stats = fstatSync(file)
    if (stats.isFile()) refuseExposedFile(path, stats, toReaders(path, stats, kind, isContainer))
    else refuseForeignPipe(path, stats)
    return readUpTo(file, path, MAX_SECRET_BYTES).toString()
  } finally {
    closeSync(file)
  }
}

const MAX_SECRET_BYTES = 1024 * 1024
const PIECE_BYTES = 64 * 1024

/** With the code of the system for it. */
class TooLargeError extends UserError {
  override readonly name = 'TooLargeError'
  readonly code = 'EFBIG'

  constructor(path: string, maxBytes: number) {
    super(`${path} is larger than ${maxBytes / 2 ** 20} MiB. Give another file.`)
  }
}

/** A device such as /dev/zero has no end. */
function readUpTo(file: number, path: string, maxBytes: number): Buffer {
  const pieces: Buffer[] = []
  for (let size = 0; size <= maxBytes; size += pieces.at(-1)?.length ?? 0) {
    const piece = Buffer.alloc(PIECE_BYTES)
    const count = readSync(file, piece, 0, PIECE_BYTES, null)
    if (count === 0) return Buffer.concat(pieces)
    pieces.push(piece.subarray(0, count))
  }
  throw new TooLargeError(path, maxBytes)
}

/** A file without secrets. File system errors are thrown unchanged. */
export function readFileUpTo(path: string, maxBytes: number): Buffer {
  const file = openSync(path, 'r')
  try {
    return readUpTo(file, path, maxBytes)
  } finally {
    closeSync(file)
  }
}

/** A pipe, as in <(command), has no other reader, but a named one may have another writer. A terminal has none. */
function refuseForeignPipe(path: string, stats: Stats): void {
  if (!stats.isFile() && !stats.isCharacterDevice()) refuseUntrustedPath(path)
}

/** Who may read it besides its owner, as bits of its mode. */
function toReaders(path: string, { gid }: Stats, kind: SecretKind, isContainer: () => boolean): number {
  if (kind === 'private') return 0
  if (kind === 'mounted') return isRunSecret(path) || isInMemory(path) ? EVERYONE : GROUP
  if (isRunSecret(path) || (isInMemory(path) && isContainer())) return EVERYONE
  return isOwnGroup(gid) ? GROUP : 0
}

const GROUP = 0o040
const EVERYONE = 0o044

function refuseExposedFile(path: string, stats: Stats, mayRead: number): void {
  // Windows has no such modes.
  if (process.getuid === undefined) return
  refuseForeignOwner(path, stats)
  if ((stats.mode & 0o077 & ~mayRead) !== 0)
    throw new UntrustedPath(
      `${path} holds a secret, and other users of this machine can read or change it. Type: chmod ${mayRead === 0 ? '600' : '640'} ${toWord(path)}`,
    )
  refuseUntrustedPath(path)
}

/** For a file that may hold secrets, where a warning is enough. */
export const isReadableByAll = (path: string) =>
  process.getuid !== undefined && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0

const TMPFS = 0x01021994

/** Secrets of a container are on tmpfs (Kubernetes, Docker Swarm) or in /run/secrets (Docker Compose). */
const isInMemory = (path: string) => process.platform === 'linux' && statfsSync(path).type === TMPFS
const isRunSecret = (path: string) =>
  process.platform === 'linux' && /^(\/var)?\/run\/secrets\//.test(resolve(path))

const OVERLAY = 0x794c7630

/** The root of a container is an overlay, or Docker or Podman have left their mark in it. */
const isInContainer = () =>
  statfsSync('/').type === OVERLAY || ['/.dockerenv', '/run/.containerenv'].some((mark) => existsSync(mark))

/** `fsGroup` of Kubernetes, the group of the service, or root's, as for credentials of systemd. On macOS all users share one group. */
const isOwnGroup = (gid: number) =>
  gid === 0 || gid === process.geteuid?.() || (process.platform === 'linux' && gid === process.getegid?.())

/**
 * Creates a file that only its owner can read. It is durable, and a crash leaves no incomplete one: it is written elsewhere and
 * linked. False if there is one already, which stays as it is.
 */
export function createSecretFile(path: string, text: string): boolean {
  const draft = writeDraft(path, text)
  try {
    linkSync(draft, path)
    syncFolder(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(draft)
  }
}

/** Replaces such a file at once. */
export function replaceSecretFile(path: string, text: string): void {
  const draft = writeDraft(path, text)
  try {
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolder(path)
}

/** Deletes what crashes left beside the file, and nothing else: copies that the operator keeps there have names of his own. */
export function deleteDrafts(path: string): void {
  const folder = dirname(path)
  const start = `${basename(path)}${DRAFT}`
  for (const name of readdirSync(folder))
    if (name.startsWith(start) && UUID.test(name.slice(start.length))) rmSync(join(folder, name))
}

const DRAFT = '.draft-'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function writeDraft(path: string, text: string): string {
  // Not the process id: in two containers that share a folder, it is the same.
  const draft = `${path}${DRAFT}${randomUUID()}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
    return draft
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

/** Makes the name of the file durable. */
function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
