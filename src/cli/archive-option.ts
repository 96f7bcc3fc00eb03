import { findArchives, findArchivesOf } from '../audit/archive/find-archives.ts'
import { openWholeLog, toMissingText, type WholeLog } from '../audit/archive/whole-log.ts'
import type { Config } from '../context/config.ts'
import { warn } from '../server/terminal.ts'
import { toPublicKeyOf } from './audit-key.ts'
import type { CommandContext } from './command-context.ts'

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
  work: (log: WholeLog) => Promise<T>,
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
