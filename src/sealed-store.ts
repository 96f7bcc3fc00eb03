import type { Config } from './config.ts'
import { type Keyring, openKeyring, type RootState } from './crypto/keyring.ts'
import { loadRootKeys, type RootKeys } from './crypto/root-key.ts'
import { openStore, type Store, type StoreOptions } from './store/store.ts'

export type SealedStore = {
  readonly store: Store
  readonly keyring: Keyring
  readonly rootKeys: RootKeys
}

/** The store with the keys that belong to it: the command line needs no more than this. */
export async function openSealedStore(
  config: Config,
  options: Partial<StoreOptions> = {},
): Promise<SealedStore> {
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, ...options })
  try {
    return { store, ...(await loadKeyring(config, store)) }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Also called anew when a row was sealed by a root key that this process has not seen yet. */
export async function loadKeyring(
  config: Config,
  store: Store,
): Promise<Pick<SealedStore, 'keyring' | 'rootKeys'>> {
  const known = await readRootState(store)
  const rootKeys = loadRootKeys(config, known.fingerprint === undefined)
  const first = rootKeys.candidates[0]
  if (known.fingerprint === undefined && first) await store.meta.insert('root_fingerprint', first.fingerprint)
  // Of two processes that start at once on a new database, the later one finds the fingerprint of the earlier one.
  const state = known.fingerprint === undefined ? await readRootState(store) : known
  return { rootKeys, keyring: openKeyring(rootKeys, state) }
}

async function readRootState({ meta }: Store): Promise<RootState> {
  const facts = await meta.read()
  return {
    fingerprint: facts.root_fingerprint,
    version: Number(facts.root_version ?? 1),
    previousFingerprint: facts.root_previous_fingerprint,
    carried: facts.carried_keys,
  }
}
