import type { KeyObject } from 'node:crypto'
import {
  findArchives,
  findArchivesOf,
  openWholeLog,
  toMissingText,
  type WholeLog,
} from '../audit/archive/whole-log.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner, type Signer } from '../audit/signing.ts'
import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { readFileUpTo } from '../crypto/secret-file.ts'
import { UserError } from '../errors.ts'
import { warn } from '../server/terminal.ts'
import { type CommandContext, withStore } from './command-context.ts'

export const toSigner = (keyring: Keyring): Signer => createSigner(keyring['audit-signing'])

export const toPublicKeyOf = (keyring: Keyring): KeyObject =>
  toPublicKey(toSigner(keyring).publicKey, 'The key')

export const readKeyFile = (path: string): KeyObject => toPublicKey(readInputFile(path).toString(), path)

/** Reads a file that is named on the command line. */
export function readInputFile(path: string): Buffer {
  try {
    return readFileUpTo(path, MAX_INPUT_BYTES)
  } catch (error) {
    if (error instanceof UserError) throw error
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(
      code === 'ENOENT'
        ? `There is no file ${path}.`
        : `${path} cannot be read (${code}). Give another file.`,
    )
  }
}

const MAX_INPUT_BYTES = 64 * 1024 * 1024

type FoundKey = { readonly publicKey: KeyObject; readonly database?: string }

/** The key from the file, or from the database and then with its name. */
export async function findPublicKey(path: string | undefined): Promise<FoundKey> {
  if (path !== undefined) return { publicKey: readKeyFile(path) }
  try {
    return await withStore(async ({ keyring, database }) => ({
      publicKey: toPublicKeyOf(keyring),
      database,
    }))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw new UserError(
      `No public key: give --public-key FILE, or run where the database is. ${error.message}`,
    )
  }
}

/** The error does not repeat the text: it may be a NIN or a phone. */
export function readReference(text: string): string {
  if (/^ver_[0-9a-z]{36}$/.test(text.trim())) return text.trim()
  throw new UserError('A request_reference is ver_ and 36 lower-case letters and digits.')
}

/** For commands that read the audit log. */
export const ARCHIVE_OPTION = [
  '--archive <path...>',
  'archives of the log, or folders with archives (default: TABBAT_AUDIT_ARCHIVE_DIR)',
] as const

export const ARCHIVE_NOTE =
  'Rows that were archived are read from their archives: name them with --archive or TABBAT_AUDIT_ARCHIVE_DIR. Each archive is first compared with its signed digest; one that was changed is refused.'

type ArchiveConfig = Pick<Config, 'auditArchiveDir'>

export const findNamed = (
  named: readonly string[] | undefined,
  { auditArchiveDir }: ArchiveConfig,
): string[] => (named ? findArchives(named) : findArchivesOf(auditArchiveDir))

/** Opens the log with the archives that the option or the setting names. */
export async function withWholeLog<T>(
  { store, keyring, config }: Pick<CommandContext, 'store' | 'keyring' | 'config'>,
  named: readonly string[] | undefined,
  work: (log: WholeLog<Store>) => Promise<T>,
): Promise<T> {
  const publicKey = toPublicKeyOf(keyring)
  const log = await openWholeLog(store, findNamed(named, config), { publicKey })
  return work(log).finally(log.close)
}

/** A list must not look complete if it is not. */
export function warnAboutArchives(log: WholeLog): void {
  const missing = toMissingText(log)
  if (missing !== undefined) warn(`${missing} Name them with --archive.`)
}
