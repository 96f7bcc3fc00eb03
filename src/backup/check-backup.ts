import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import { verifyStore } from '../audit/verify/verify-store.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { RootKeySettings } from '../crypto/root-key.ts'
import { toAssociatedData, unseal } from '../crypto/seal.ts'
import type { Row } from '../database/database.ts'
import { loadKeyring } from '../database/load-keyring.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { DATA_TABLES } from './data-tables.ts'
import type { Counts, Header } from './format.ts'
import { restoreBackup } from './restore-backup.ts'
import { type Snapshot, withSnapshot } from './snapshot.ts'

export type CheckedBackup = {
  readonly header: Header
  readonly counts: Counts
  /** Records and pictures that were opened. */
  readonly opened: number
  readonly auditRows: number
  /** One sentence for each kind of fault; empty when the backup is good. */
  readonly faults: readonly string[]
}

type Progress = (done: number, total: number, rows?: number) => void

/**
 * Restores a backup into an empty store, and checks what is there: the number of rows of each table, that every record and
 * picture opens, and the audit log. Throws when the file cannot be restored. `config` is used for the root key only.
 */
export async function checkBackup(
  config: RootKeySettings,
  store: OpenDatabase & { readonly meta: MetaTable },
  file: string,
  onProgress: Progress = () => {},
): Promise<CheckedBackup> {
  const { header, counts } = await restoreBackup(config, store, file, { onProgress })
  const { keyring } = await loadKeyring(config, store)
  const { missing, seals } = await withSnapshot(store, async (snapshot) => ({
    missing: await findMissing(snapshot, counts),
    seals: await openSeals(snapshot, keyring, onProgress),
  }))
  const publicKey = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The key')
  const { sound, rows, fault } = await verifyStore(store, { publicKey, file: undefined, onProgress })
  const faults = [
    ...missing,
    ...(seals.failed > 0
      ? [`${seals.failed} of ${seals.opened + seals.failed} records and pictures cannot be opened.`]
      : []),
    ...(sound ? [] : [`The audit log is not sound: ${fault?.reason ?? 'unknown'}.`]),
  ]
  return { header, counts, opened: seals.opened, auditRows: rows, faults }
}

async function findMissing(snapshot: Snapshot, counts: Counts): Promise<string[]> {
  const faults: string[] = []
  for (const table of DATA_TABLES) {
    const [found, expected] = [await snapshot.count(table), counts[table] ?? 0]
    if (found !== expected) faults.push(`${table} has ${found} rows instead of ${expected}.`)
  }
  return faults
}

const ID_COLUMN = { registry: 'subject', media: 'id' } as const
type SealedTable = keyof typeof ID_COLUMN

async function openSeals(snapshot: Snapshot, keyring: Keyring, onProgress: Progress) {
  const total = (await snapshot.count('registry')) + (await snapshot.count('media'))
  let [opened, failed] = [0, 0]
  for (const table of ['registry', 'media'] as const)
    for await (const page of snapshot.rows(table)) {
      for (const row of page)
        if (canOpen(table, row, keyring)) opened += 1
        else failed += 1
      onProgress(opened + failed, total)
    }
  return { opened, failed }
}

function canOpen(table: SealedTable, row: Row, keyring: Keyring): boolean {
  const version = Number(row.key_version)
  try {
    const key = keyring.sealing(version)
    if (!key) return false
    unseal(
      key,
      row.sealed as Uint8Array,
      toAssociatedData(table, row[ID_COLUMN[table]] as Uint8Array, version),
    )
    return true
  } catch {
    return false
  }
}
