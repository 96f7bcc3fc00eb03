import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../errors.ts'
import { runKeyCommand } from './root-key-command.ts'
import { createSecretFile, readSecretFile, replaceSecretFile } from './secret-file.ts'
import { refuseUntrustedPath, UntrustedPath } from './trusted-path.ts'

/** A root secret of 32 bytes, from which every other key is derived by a label. */
export type RootKey = {
  readonly fingerprint: string
  readonly derive: (label: string) => KeyObject
}

/** The present root key and, during a rotation, the previous one. */
export type RootKeys = {
  readonly candidates: readonly RootKey[]
  readonly origin: 'setting' | 'file' | 'command'
  readonly where: string
}

export type RootKeySettings = {
  readonly rootKey: string | undefined
  readonly rootKeyPrevious: string | undefined
  /** A program and its arguments. */
  readonly rootKeyCommand: readonly string[] | undefined
  readonly dataDir: string
}

/** From the settings, from a command, or from root.key in the data folder, which is created on the first run. */
export async function loadRootKeys(settings: RootKeySettings, mayCreate: boolean): Promise<RootKeys> {
  const { rootKey, rootKeyPrevious, rootKeyCommand, dataDir } = settings
  const path = toRootKeyPath(dataDir)
  if (rootKeyCommand !== undefined) {
    refuseSecondKey(path)
    return toRootKeys(await runKeyCommand(rootKeyCommand), 'command', 'the output of TABBAT_ROOT_KEY_COMMAND')
  }
  if (rootKey === undefined) return toRootKeys(readOrCreate(path, mayCreate), 'file', path)
  return toRootKeys(`${rootKey} ${rootKeyPrevious ?? ''}`, 'setting', 'TABBAT_ROOT_KEY')
}

/** The present key comes first, unless it is being replaced; white space separates keys. */
function toRootKeys(text: string, origin: RootKeys['origin'], where: string): RootKeys {
  const candidates = text
    .trim()
    .split(/\s+/)
    .map((key) => parseRootKey(key, where))
  return { candidates, origin, where }
}

/** Which of the two keys would be in use is not obvious, and a key beside the data is what the command should prevent. */
function refuseSecondKey(path: string): void {
  if (!existsSync(path)) return
  throw new UserError(
    `TABBAT_ROOT_KEY_COMMAND is set, and there is also a root key at ${path}. If the command prints the same key, move the file to where you keep the copy; else unset TABBAT_ROOT_KEY_COMMAND.`,
  )
}

const toRootKeyPath = (dataDir: string) => join(dataDir, 'root.key')

export const createRootKeyText = () => randomBytes(32).toString('base64')

export function parseRootKey(text: string, where: string): RootKey {
  const trimmed = text.trim()
  const bytes = Buffer.from(trimmed, /^[0-9a-f]{64}$/i.test(trimmed) ? 'hex' : 'base64')
  if (bytes.length !== 32)
    throw new UserError(
      `${where.replace(/^the/, 'The')} must hold 32 bytes as base64 or hex. Make one with: openssl rand -base64 32`,
    )
  const derive = (label: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', bytes, '', `tabbat/v1/${label}`, 32)))
  return { derive, fingerprint: createHmac('sha256', derive('fingerprint')).update('root').digest('hex') }
}

export const writeRootKeyFile = (path: string, texts: readonly string[]) =>
  replaceSecretFile(path, `${texts.join('\n')}\n`)

function readOrCreate(path: string, mayCreate: boolean): string {
  try {
    return readSecretFile(path, 'private')
  } catch (error) {
    if (error instanceof UntrustedPath) throw error
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new UserError(`The root key file ${path} cannot be read. Check its permissions.`)
  }
  if (!mayCreate)
    throw new UserError(
      `The root key is missing, and the data was sealed under one. Put it at ${path} or set TABBAT_ROOT_KEY.`,
    )
  return createRootKeyFile(path)
}

/** Of two processes that start at once, one creates it. The database must never know a root key that a power cut can lose. */
function createRootKeyFile(path: string): string {
  refuseUntrustedPath(path)
  createSecretFile(path, `${createRootKeyText()}\n`)
  return readSecretFile(path, 'private')
}
