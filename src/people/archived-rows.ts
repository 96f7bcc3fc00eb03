import { countMissing, findArchivesOf, mergeRows, searchArchives } from '../audit/archive/search-archives.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { LoggedRow } from '../store/audit-row.ts'
import type { Store } from '../store/store.ts'

type ArchiveDeps = { readonly store: Pick<Store, 'archives'>; readonly keyring: Keyring }

/** Adds the rows about a person that are in archives, and tells what was not searched. */
export async function addArchivedRows(
  { store, keyring }: ArchiveDeps,
  archiveDir: string | undefined,
  subject: string,
  inDatabase: readonly LoggedRow[],
): Promise<{ readonly rows: readonly LoggedRow[]; readonly limits: readonly string[] }> {
  const paths = findArchivesOf(archiveDir)
  const publicKey = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The key')
  const archived = await searchArchives(paths, { subject }, publicKey)
  const missing = await countMissing(await store.archives.list(), paths)
  const limits =
    missing > 0
      ? [
          `${missing} of the archives of the audit log were not searched: what is recorded in them about this number is not in this report. Put them into the folder of TABBAT_AUDIT_ARCHIVE_DIR.`,
        ]
      : []
  return { rows: mergeRows(inDatabase, archived), limits }
}
