import type { Keyring } from '../crypto/keyring.ts'
import { makeFolderSync } from '../crypto/make-folder.ts'
import type { RootKeySettings, RootKeys } from '../crypto/root-key.ts'
import { loadKeyring, readRootState } from '../database/load-keyring.ts'
import { isDemo } from '../database/meta-table.ts'
import type { DatabaseOptions } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import { openStore, type Store } from './store.ts'

/** The database and its root key. */
type SealedStoreSettings = RootKeySettings & Pick<DatabaseOptions, 'databaseUrl'>

export type SealedStore = {
  readonly store: Store
  readonly keyring: Keyring
  readonly rootKeys: RootKeys
  /** `tabbat demo` made the data: nothing of it is real. */
  readonly isDemo: boolean
}

/** Opens the store and its keys, which is all that most commands need. */
export async function openSealedStore(
  config: SealedStoreSettings,
  options: Partial<DatabaseOptions> = {},
): Promise<SealedStore> {
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, ...options })
  if (options.mustExist && (await readRootState(store)).fingerprint === undefined) {
    await store.close()
    throw new UserError(
      `There is no Tabbat data at ${store.place} yet. Start the server or import records first.`,
    )
  }
  // With PostgreSQL, the folder holds only the root key, the node name and the checkpoints.
  makeFolderSync(config.dataDir)
  try {
    return { store, ...(await loadKeyring(config, store)), isDemo: isDemo(await store.meta.read()) }
  } catch (error) {
    await store.close()
    throw error
  }
}
