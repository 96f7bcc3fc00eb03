import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../errors.ts'

/** One purpose, one key: a leak of one tells nothing about the others. */
const PURPOSES = ['api-key-pepper'] as const
type Purpose = (typeof PURPOSES)[number]

/** Held as KeyObjects: they never show up in a log, and are several times faster than buffers for HMAC. */
export type Keys = { readonly [P in Purpose]: KeyObject } & { readonly fingerprint: string }

type RootKeyOptions = {
  readonly rootKey: string | undefined
  readonly dataDir: string
  /** The fingerprint the database was made with; undefined for a new database. */
  readonly expected: string | undefined
}

export type RootKey = { readonly keys: Keys; readonly origin: 'setting' | 'file' }

export function loadRootKey({ rootKey, dataDir, expected }: RootKeyOptions): RootKey {
  const path = join(dataDir, 'root.key')
  const origin = rootKey === undefined ? 'file' : 'setting'
  const text = rootKey ?? readOrCreate(path, expected === undefined)
  const keys = deriveKeys(parseRootKey(text, origin === 'file' ? path : 'TABBAT_ROOT_KEY'))
  if (expected !== undefined && keys.fingerprint !== expected)
    throw new Refusal(
      `The root key (from ${origin === 'file' ? path : 'TABBAT_ROOT_KEY'}) is not the one this database was made with. Give the right one; nothing was changed.`,
    )
  return { keys, origin }
}

function parseRootKey(text: string, where: string): Buffer {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, /^[0-9a-f]{64}$/i.test(trimmed) ? 'hex' : 'base64')
  if (bytes.length === 32) return bytes
  throw new Refusal(`${where} must hold 32 bytes as base64 or hex. Make one with: openssl rand -base64 32`)
}

function readOrCreate(path: string, mayCreate: boolean): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new Refusal(`The root key file ${path} cannot be read: check its permissions.`)
  }
  if (!mayCreate)
    throw new Refusal(
      `The root key is missing: this database was made with one. Put it back at ${path} or set TABBAT_ROOT_KEY.`,
    )
  return createRootKeyFile(path)
}

/** Linked into place whole: a crash leaves no half-written key, and of two processes that start at once one wins. */
function createRootKeyFile(path: string): string {
  const draft = `${path}.${process.pid}`
  const file = openSync(draft, 'w', 0o600)
  writeSync(file, `${randomBytes(32).toString('base64')}\n`)
  fsyncSync(file)
  closeSync(file)
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft)
  }
  return readFileSync(path, 'utf8')
}

function deriveKeys(root: Buffer): Keys {
  const derive = (label: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', root, '', `tabbat/v1/${label}`, 32)))
  const fingerprint = createHmac('sha256', derive('fingerprint')).update('root').digest('hex')
  const keys = Object.fromEntries(PURPOSES.map((purpose) => [purpose, derive(purpose)])) as Record<
    Purpose,
    KeyObject
  >
  return { ...keys, fingerprint }
}
