import { type Keyring, openKeyring } from '../crypto/keyring.ts'
import type { RootKeySettings } from '../crypto/root-key.ts'
import { loadRootKeys } from '../crypto/root-key.ts'
import type { Database } from '../database/database.ts'
import { toRootState } from '../database/load-keyring.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import type { Contents, Rows } from './parse-backup.ts'
import { readBackup } from './read-backup.ts'
import { emptyTables, findContents, insertRows } from './restore-rows.ts'

type RestoreOptions = {
  /** Deletes the present data first, in the same transaction. */
  readonly force?: boolean
  /** Bytes and rows read, over both passes of the file. */
  readonly onProgress?: (done: number, total: number, rows: number) => void
  /** Runs in the same transaction, after all rows. */
  readonly afterRows?: (tx: Database, keyring: Keyring) => Promise<void>
}

/**
 * Restores a backup of either database. The file is read twice: first its MAC is checked, then all rows are inserted in one
 * transaction, which is committed only if the file was the same.
 */
export async function restoreBackup(
  config: RootKeySettings,
  store: Pick<OpenDatabase, 'database' | 'place'>,
  file: string,
  { force = false, onProgress = () => {}, afterRows = async () => {} }: RestoreOptions = {},
): Promise<Contents> {
  const facts: [unknown, unknown][] = []
  const rootKeys = await loadRootKeys(config, false)
  const checked = await readBackup(file, rootKeys, {
    onRows: (rows) => void facts.push(...toFacts(rows)),
    onProgress: (done, total, rows) => onProgress(done, 2 * total, rows),
  })
  // A backup taken during a rotation needs both keys.
  const keyring = openKeyring(rootKeys, toRootState(Object.fromEntries(facts)))
  return store.database.transaction(async (tx) => {
    await refuseContents(tx, store.place, force)
    await emptyTables(tx)
    const contents = await readBackup(file, rootKeys, {
      onRows: ({ table, columns, rows }) => insertRows(tx, table, columns, rows),
      onProgress: (done, total, rows) => onProgress(total + done, 2 * total, rows),
    })
    if (contents.mac !== checked.mac)
      throw new UserError(`${file} was replaced while it was read. Nothing was changed.`)
    await afterRows(tx, keyring)
    return contents
  })
}

async function refuseContents(tx: Database, place: string, force: boolean): Promise<void> {
  const contents = await findContents(tx)
  if (contents === 'audit log')
    throw new UserError(
      `The database at ${place} holds an audit log, which is never deleted. Restore into a new one: move this one away, or set TABBAT_DATA_DIR or TABBAT_DATABASE_URL.`,
    )
  if (contents === 'data' && !force)
    throw new UserError(
      `The database at ${place} is not empty. Restore into a new one, or give --force to replace its data.`,
    )
}

function toFacts({ table, columns, rows }: Rows): [unknown, unknown][] {
  if (table !== 'meta') return []
  const [name, value] = [columns.indexOf('name'), columns.indexOf('value')]
  return rows.map((row) => [row[name], row[value]])
}
