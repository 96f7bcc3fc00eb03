import type { Config } from '../config/config.ts'
import { openKeyring } from '../crypto/keyring.ts'
import { loadRootKeys } from '../crypto/root-key.ts'
import { UserError } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { emptyTables, findContents, insertRows } from '../store/restore-rows.ts'
import { toRootState } from '../store/sealed-store.ts'
import type { Store } from '../store/store.ts'
import type { Contents, Rows } from './parse-backup.ts'
import { readBackup } from './read-backup.ts'

export type RestoreOptions = {
  /** Takes away what is in the database before, in the same transaction. */
  readonly force?: boolean
  /** Bytes read, of both times the file is read, and rows. */
  readonly onProgress?: (done: number, total: number, rows: number) => void
}

/**
 * Fills the database from a backup of either kind of database. The file is read twice: nothing is changed before it is
 * known to be whole, and all is changed or nothing.
 */
export async function restoreBackup(
  config: Config,
  store: Store,
  file: string,
  { force = false, onProgress = () => {} }: RestoreOptions = {},
): Promise<Contents> {
  const facts: [unknown, unknown][] = []
  const checked = await readBackup(file, {
    onRows: (rows) => void facts.push(...toFacts(rows)),
    onProgress: (done, total, rows) => onProgress(done, 2 * total, rows),
  })
  refuseWrongRootKey(config, Object.fromEntries(facts), checked)
  return store.database.transaction(async (inside) => {
    await refuseContents(inside, store.place, force)
    await emptyTables(inside)
    return readBackup(file, {
      onRows: ({ table, columns, rows }) => insertRows(inside, table, columns, rows),
      onProgress: (done, total, rows) => onProgress(total + done, 2 * total, rows),
    })
  })
}

async function refuseContents(inside: Database, place: string, force: boolean): Promise<void> {
  const contents = await findContents(inside)
  if (contents === 'audit log')
    throw new UserError(
      `The database at ${place} holds an audit log, which is never taken away. Restore into a new one: move this one aside, or set TABBAT_DATA_DIR or TABBAT_DATABASE_URL.`,
    )
  if (contents === 'data' && !force)
    throw new UserError(
      `The database at ${place} is not empty. Restore into a new one, or give --force to replace all that is in it.`,
    )
}

function toFacts({ table, columns, rows }: Rows): [unknown, unknown][] {
  if (table !== 'meta') return []
  const [name, value] = [columns.indexOf('name'), columns.indexOf('value')]
  return rows.map((row) => [row[name], row[value]])
}

/** The keys must open what is in the backup; one taken during a rotation needs both. */
function refuseWrongRootKey(config: Config, facts: Record<string, string>, { header }: Contents): void {
  const rootKeys = loadRootKeys(config, false)
  try {
    openKeyring(rootKeys, toRootState(facts))
  } catch {
    throw new UserError(
      `The root key (from ${rootKeys.where}) is not the one this backup was made under (fingerprint ${header.root_fingerprint.slice(0, 12)}…, ${header.created_at}). Put that one in place; nothing was changed.`,
    )
  }
}
