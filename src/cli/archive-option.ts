import { warn } from '../app/terminal.ts'
import {
  countMissing,
  findArchives,
  findArchivesOf,
  searchArchives,
} from '../audit/archive/search-archives.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { LoggedRow } from '../store/audit-row.ts'
import type { Store } from '../store/store.ts'
import { toPublicKeyOf } from './audit-key.ts'

/** For commands that read the audit log. */
export const ARCHIVE_OPTION = [
  '--archive <path...>',
  'archives of the log, or folders with archives (default: TABBAT_AUDIT_ARCHIVE_DIR)',
] as const

export const ARCHIVE_NOTE =
  'Rows that were archived are found in their archives: name them with --archive or TABBAT_AUDIT_ARCHIVE_DIR.'

type ArchiveConfig = Pick<Config, 'auditArchiveDir'>

export const findNamed = (
  named: readonly string[] | undefined,
  { auditArchiveDir }: ArchiveConfig,
): string[] => (named ? findArchives(named) : findArchivesOf(auditArchiveDir))

/** The rows in the archives that the option or the setting names. */
export const searchNamed = (
  named: readonly string[] | undefined,
  config: ArchiveConfig,
  keyring: Keyring,
  wanted: Parameters<typeof searchArchives>[1],
): Promise<LoggedRow[]> => searchArchives(findNamed(named, config), wanted, toPublicKeyOf(keyring))

/** A list of look-ups must not look complete if it is not. */
export async function warnAboutArchives(
  { archives }: Store,
  named: readonly string[] | undefined,
  config: ArchiveConfig,
): Promise<void> {
  const stated = await archives.list()
  const missing = await countMissing(stated, findNamed(named, config))
  if (missing > 0)
    warn(
      `${missing} of ${stated.length} archives of the audit log were not searched. Name them with --archive.`,
    )
}
