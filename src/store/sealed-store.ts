import { mkdirSync } from 'node:fs'
import { type Keyring, openKeyring, type RootState } from '../crypto/keyring.ts'
import { loadRootKeys, type RootKeySettings, type RootKeys } from '../crypto/root-key.ts'
import { FailedKeyCommand } from '../crypto/root-key-command.ts'
import type { Meta } from '../database/meta-table.ts'
import { UserError } from '../errors.ts'
import { openStore, type Store, type StoreOptions } from './store.ts'

/** The database and its root key. */
export type SealedStoreSettings = RootKeySettings & Pick<StoreOptions, 'databaseUrl'>

export type SealedStore = {
  readonly store: Store
  readonly keyring: Keyring
  readonly rootKeys: RootKeys
}

/** Opens the store and its keys, which is all that most commands need. */
export async function openSealedStore(
  config: SealedStoreSettings,
  options: Partial<StoreOptions> = {},
): Promise<SealedStore> {
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, ...options })
  if (options.mustExist && (await readRootState(store)).fingerprint === undefined) {
    await store.close()
    throw new UserError(
      `There is no Tabbat data at ${store.place} yet. Start the server or import records first.`,
    )
  }
  // With PostgreSQL, the folder holds only the root key, the node name and the checkpoints.
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  try {
    return { store, ...(await loadKeyring(config, store)) }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Called again when a row was sealed under a root key version that this process does not know. */
export async function loadKeyring(config: SealedStoreSettings, store: Store): Promise<Keys> {
  try {
    return await loadKeyringOnce(config, store)
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof FailedKeyCommand) throw error
    // A rotation may have begun or ended between reading the database and reading the file.
    return loadKeyringOnce(config, store)
  }
}

type Keys = Pick<SealedStore, 'keyring' | 'rootKeys'>

async function loadKeyringOnce(config: SealedStoreSettings, store: Store): Promise<Keys> {
  const known = await readRootState(store)
  const rootKeys = await loadRootKeys(config, known.fingerprint === undefined)
  const first = rootKeys.candidates[0]
  if (known.fingerprint === undefined && first) {
    await store.meta.insert('root_fingerprint', first.fingerprint)
    await store.meta.insert('created_at', new Date().toISOString())
  }
  // Of two processes that start at once on a new database, the later reads the fingerprint of the earlier.
  const state = known.fingerprint === undefined ? await readRootState(store) : known
  return { rootKeys, keyring: openKeyring(rootKeys, state) }
}

const readRootState = async ({ meta }: Store) => toRootState(await meta.read())

export const toRootState = (facts: Meta): RootState => ({
  fingerprint: facts.root_fingerprint,
  version: Number(facts.root_version ?? 1),
  previousFingerprint: facts.root_previous_fingerprint,
  carried: facts.carried_keys,
})
