import type { Config } from './config.ts'
import { loadRootKey, type RootKey } from './crypto/root-key.ts'
import { openStore, type Store } from './store/store.ts'

/** The store with the root key that belongs to it: the command line needs no more than this. */
export async function openSealedStore(config: Config): Promise<{ store: Store; rootKey: RootKey }> {
  const store = await openStore({ dataDir: config.dataDir })
  try {
    const expected = await store.meta.get('root_fingerprint')
    const rootKey = loadRootKey({ rootKey: config.rootKey, dataDir: config.dataDir, expected })
    if (expected === undefined) await store.meta.insert('root_fingerprint', rootKey.keys.fingerprint)
    return { store, rootKey }
  } catch (error) {
    await store.close()
    throw error
  }
}
