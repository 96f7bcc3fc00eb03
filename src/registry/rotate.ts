import { readFileSync, realpathSync } from 'node:fs'
import { type Keyring, sealCarried } from '../crypto/keyring.ts'
import {
  createRootKeyText,
  parseRootKey,
  type RootKey,
  type RootKeySettings,
  type RootKeys,
  writeRootKeyFile,
} from '../crypto/root-key.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import { deleteDrafts } from '../crypto/secret-file.ts'
import { emptyWal } from '../database/empty-wal.ts'
import { loadKeyring } from '../database/load-keyring.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import { ROTATION_LOCK, withProcessLock } from '../database/process-lock.ts'
import { UserError } from '../errors.ts'
import type { RotationTable, SealedRow, SealedTable } from './rotation-table.ts'

/** The steps of a rotation. If the process dies after one, the next run continues there. */
export type RotationStep =
  | { readonly at: 'prepared' }
  | { readonly at: 'begun' }
  | { readonly at: 'sealing'; readonly done: number; readonly total: number }
  | { readonly at: 'predecessor_forgotten' }

export type Rotation = {
  /** tidied: only the file of an ended rotation was cleaned up. prepared: the next key is in the file, not in use. */
  readonly outcome: 'rotated' | 'tidied' | 'prepared'
  readonly version: number
  /** Rows sealed under the new key by this run. */
  readonly sealed: { readonly [Table in SealedTable]: number }
  readonly resumed: boolean
  /** False: rows under the old key are still in the write-ahead log of SQLite. */
  readonly isWalEmptied: boolean
  readonly origin: RootKeys['origin']
  readonly where: string
}

type RotationOptions = {
  /** Only creates the next key: other nodes must have it before the rotation begins. */
  readonly prepareOnly?: boolean
  readonly onStep?: (step: RotationStep) => unknown
  readonly rowsAtOnce?: RowsAtOnce
}

type RowsAtOnce = { readonly [Table in SealedTable]: number }

type RotationStore = Pick<OpenDatabase, 'database' | 'place' | 'file'> & {
  readonly meta: MetaTable
  readonly rotation: RotationTable
}

/** Pictures are large: few are held in memory at once. */
const ROWS_AT_ONCE: RowsAtOnce = { registry: 1000, media: 4 }

/**
 * Replaces the root key and seals every row under the new one, while servers run. The file holds both keys before the database
 * knows the new one, and until no row needs the old one, so every row can be opened at any moment.
 */
export function rotateRoot(
  config: RootKeySettings,
  { store }: { readonly store: RotationStore },
  { prepareOnly = false, onStep = () => {}, rowsAtOnce = ROWS_AT_ONCE }: RotationOptions = {},
): Promise<Rotation> {
  return withProcessLock(store, ROTATION_LOCK, async () => {
    const resumed = (await store.meta.read()).root_previous_fingerprint !== undefined
    const before = resumed ? 'rotated' : await start(config, store, prepareOnly, onStep)
    const { keyring, rootKeys } = await loadKeyring(config, store)
    const result = { version: keyring.version, resumed, origin: rootKeys.origin, where: rootKeys.where }
    if (before !== 'rotated')
      return { ...result, outcome: before, sealed: { registry: 0, media: 0 }, isWalEmptied: true }
    const sealed = await sealRows(store, keyring, rowsAtOnce, onStep)
    await finish(config, store, keyring.version)
    onStep({ at: 'predecessor_forgotten' })
    if (rootKeys.origin === 'file') await tidyFile(store, rootKeys.where)
    return { ...result, outcome: 'rotated', sealed, isWalEmptied: await emptyWal(store) }
  })
}

async function start(
  config: RootKeySettings,
  store: RotationStore,
  prepareOnly: boolean,
  onStep: (step: RotationStep) => unknown,
): Promise<Rotation['outcome']> {
  const { keyring, rootKeys } = await loadKeyring(config, store)
  const current = (await store.meta.read()).root_fingerprint ?? ''
  if (hasLeftovers(rootKeys, current)) {
    await tidyFile(store, rootKeys.where)
    return 'tidied'
  }
  const successor = prepareSuccessor(rootKeys, current)
  onStep({ at: 'prepared' })
  if (prepareOnly) return 'prepared'
  const version = keyring.version + 1
  await store.rotation.begin({
    root_version: String(version),
    root_fingerprint: successor.fingerprint,
    root_previous_fingerprint: current,
    carried_keys: sealCarried(keyring, successor, version),
  })
  onStep({ at: 'begun' })
  return 'rotated'
}

async function sealRows(
  store: RotationStore,
  keyring: Keyring,
  rowsAtOnce: RowsAtOnce,
  onStep: (step: RotationStep) => unknown,
): Promise<Rotation['sealed']> {
  const { version } = keyring
  const total =
    (await store.rotation.count('registry', version)) + (await store.rotation.count('media', version))
  const sealed = { registry: 0, media: 0 }
  for (const table of ['registry', 'media'] as const) {
    let after: Uint8Array = Buffer.alloc(0)
    for (;;) {
      const rows = await store.rotation.next(table, version, after, rowsAtOnce[table])
      const last = rows.at(-1)
      if (!last) break
      const fresh = rows.flatMap((row) => sealRow(keyring, table, row))
      const decoys = rows.filter(({ isDecoy }) => isDecoy).length
      sealed[table] += Math.max(0, (await store.rotation.replace(table, version, fresh)) - decoys)
      after = last.id
      onStep({ at: 'sealing', done: sealed.registry + sealed.media, total })
    }
  }
  return sealed
}

/** A row that cannot be opened is left unchanged, and the rotation cannot end. */
function sealRow(keyring: Keyring, table: SealedTable, { id, keyVersion, sealed }: SealedRow): SealedRow[] {
  const [from, to] = [keyring.sealing(keyVersion), keyring.sealing(keyring.version)]
  if (!from || !to) return []
  try {
    const plain = unseal(from, sealed, toAssociatedData(table, id, keyVersion))
    const fresh = seal(to, plain, toAssociatedData(table, id, keyring.version))
    return [{ id, keyVersion: keyring.version, sealed: fresh }]
  } catch {
    return []
  }
}

async function finish(config: RootKeySettings, store: RotationStore, version: number): Promise<void> {
  const left =
    (await store.rotation.count('registry', version)) + (await store.rotation.count('media', version))
  if (left === 0) return store.rotation.finish()
  const { where } = (await loadKeyring(config, store)).rootKeys
  throw new UserError(
    `${left} rows are damaged and cannot be opened; all others are sealed under the new root key. Both keys stay in use (${where}). Erase those records and import them again, then run this again.`,
  )
}

async function tidyFile({ meta }: RotationStore, where: string): Promise<void> {
  dropPredecessor(where, (await meta.read()).root_fingerprint ?? '')
}

/**
 * The next root key. One that was prepared, by the operator or by an interrupted rotation, comes before the present one in the
 * file; else one is created and written to disk before anything is sealed under it.
 */
function prepareSuccessor({ candidates, origin, where }: RootKeys, current: string): RootKey {
  const first = candidates[0]
  if (first && first.fingerprint !== current) return first
  if (origin === 'setting')
    throw new UserError(
      `${where} is the present root key of this database. To rotate it, set TABBAT_ROOT_KEY to a new one (openssl rand -base64 32) and TABBAT_ROOT_KEY_PREVIOUS to the present one, for every server, restart them, and run this again.`,
    )
  if (origin === 'command')
    throw new UserError(
      `TABBAT_ROOT_KEY_COMMAND prints the present root key of this database only. To rotate it, let the command print a new one (openssl rand -base64 32) and then the present one, for every server, and run this again.`,
    )
  const text = createRootKeyText()
  writeFile(where, [text, findText(where, current)])
  return parseRootKey(text, where)
}

/** Whether the file still holds keys that this database no longer needs. */
const hasLeftovers = ({ candidates, origin }: RootKeys, current: string) =>
  origin === 'file' && candidates.length > 1 && candidates[0]?.fingerprint === current

/** Leaves only the present key in the file, and deletes drafts that a crash left beside it. */
function dropPredecessor(where: string, current: string): void {
  writeFile(where, [findText(where, current)])
  deleteDrafts(realpathSync(where))
}

function findText(where: string, fingerprint: string): string {
  const texts = readFileSync(where, 'utf8').trim().split(/\s+/)
  const found = texts.find((text) => parseRootKey(text, where).fingerprint === fingerprint)
  if (found === undefined)
    throw new UserError(
      `The root key is missing from ${where}: the file was changed meanwhile. Put the key back.`,
    )
  return found
}

function writeFile(where: string, texts: readonly string[]): void {
  try {
    // The file may be a symbolic link.
    writeRootKeyFile(realpathSync(where), texts)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UserError(
      `The root key file ${where} cannot be written (${code}). Check the folder's permissions.`,
    )
  }
}
