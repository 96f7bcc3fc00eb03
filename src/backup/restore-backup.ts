import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import { verifyStore } from '../audit/verify/verify-store.ts'
import { type Keyring, openKeyring } from '../crypto/keyring.ts'
import { loadRootKeys, type RootKeySettings } from '../crypto/root-key.ts'
import { toAssociatedData, unseal } from '../crypto/seal.ts'
import type { Database, Row, Value } from '../database/database.ts'
import { loadKeyring, toRootState } from '../database/load-keyring.ts'
import { isDemo, type MetaTable } from '../database/meta-table.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import { prepareMonthsOf } from '../ledger/audit-months.ts'
import {
  APPEND_ONLY,
  type Counts,
  DATA_TABLES,
  type DataTable,
  type Header,
  TRANSIENT_TABLES,
} from './format.ts'
import { type Contents, type Rows, readBackup } from './read-backup.ts'
import { type Snapshot, withSnapshot } from './snapshot.ts'

type RestoreOptions = {
  /** Deletes the present data first, in the same transaction. */
  readonly force?: boolean
  /** Bytes and rows read, over both passes of the file. */
  readonly onProgress?: (done: number, total: number, rows: number) => void
  /** Runs in the same transaction, after all rows. */
  readonly afterRows?: (tx: Database, keyring: Keyring, header: Header) => Promise<void>
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
  const facts: { [Name in Fact]?: string } = {}
  const rootKeys = await loadRootKeys(config, false)
  const checked = await readBackup(file, rootKeys, {
    onRows: (rows) => void Object.assign(facts, toFacts(rows)),
    onProgress: (done, total, rows) => onProgress(done, 2 * total, rows),
  })
  // A backup taken during a rotation needs both keys.
  const keyring = openKeyring(rootKeys, toRootState(facts))
  if (isDemo(facts) && store.database.dialect === 'postgres')
    throw new UserError(`${file} is of a demonstration (tabbat demo), which is never put into PostgreSQL.`)
  return store.database.transaction(async (tx) => {
    await refuseContents(tx, store.place, force)
    await emptyTables(tx)
    const contents = await readBackup(file, rootKeys, {
      onRows: ({ table, columns, rows }) => insertRows(tx, table, columns, rows),
      onProgress: (done, total, rows) => onProgress(total + done, 2 * total, rows),
    })
    if (contents.mac !== checked.mac)
      throw new UserError(`${file} was replaced while it was read. Nothing was changed.`)
    await afterRows(tx, keyring, contents.header)
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

/** What is needed before the rows are inserted. Nothing else is kept: until its MAC was checked, a backup may hold any number of rows. */
const FACTS = [
  'root_fingerprint',
  'root_version',
  'root_previous_fingerprint',
  'carried_keys',
  'demo_made_at',
] as const
type Fact = (typeof FACTS)[number]

function toFacts({ table, columns, rows }: Rows): { readonly [Name in Fact]?: string } {
  if (table !== 'meta') return {}
  const [name, value] = [columns.indexOf('name'), columns.indexOf('value')]
  const wanted = rows.filter((row) => FACTS.some((fact) => fact === row[name]))
  return Object.fromEntries(wanted.map((row) => [row[name], row[value]]))
}

/** What a restore would overwrite. An audit log cannot be deleted; meta alone does not count as data. */
async function findContents(tx: Database): Promise<'none' | 'data' | 'audit log'> {
  const filled: DataTable[] = []
  for (const table of DATA_TABLES)
    if ((await tx.prepare(`SELECT 1 AS found FROM ${table} LIMIT 1`).get()) !== undefined) filled.push(table)
  if (filled.some((table) => APPEND_ONLY.includes(table))) return 'audit log'
  return filled.some((table) => table !== 'meta') ? 'data' : 'none'
}

/** Deletes all rows. The lock keeps other nodes from migrating until the transaction ends. */
async function emptyTables(tx: Database): Promise<void> {
  await tx.lock('migrate')
  for (const table of DATA_TABLES)
    if (!APPEND_ONLY.includes(table)) await tx.prepare(`DELETE FROM ${table}`).run()
  for (const table of TRANSIENT_TABLES) await tx.prepare(`DELETE FROM ${table}`).run()
}

export async function insertRows(
  tx: Database,
  table: DataTable,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): Promise<void> {
  if (table === 'audit' && tx.dialect === 'postgres')
    await prepareMonthsOf(tx, new Set(rows.map((row) => String(row[columns.indexOf('chain')]))))
  const width = columns.length
  const places = rows.map((_row, at) => `(${columns.map((_name, n) => `$${at * width + n + 1}`).join(', ')})`)
  await tx
    .prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES ${places.join(', ')}`)
    .run(...rows.flat())
}

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
