import { type Keyring, openKeyring, type RootState } from '../crypto/keyring.ts'
import { loadRootKeys, type RootKeySettings, type RootKeys } from '../crypto/root-key.ts'
import { FailedKeyCommand } from '../crypto/root-key-command.ts'
import { UserError } from '../errors.ts'
import type { Meta, MetaTable } from './meta-table.ts'

type Keys = { readonly keyring: Keyring; readonly rootKeys: RootKeys }

type MetaStore = { readonly meta: MetaTable }

/** Called again when a row was sealed under a root key version that this process does not know. */
export async function loadKeyring(config: RootKeySettings, store: MetaStore): Promise<Keys> {
  try {
    return await loadKeyringOnce(config, store)
  } catch (error) {
    if (!(error instanceof UserError) || error instanceof FailedKeyCommand) throw error
    // A rotation may have begun or ended between reading the database and reading the file.
    return loadKeyringOnce(config, store)
  }
}

async function loadKeyringOnce(config: RootKeySettings, store: MetaStore): Promise<Keys> {
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

export const readRootState = async ({ meta }: MetaStore) => toRootState(await meta.read())

export const toRootState = (facts: Meta): RootState => ({
  fingerprint: facts.root_fingerprint,
  version: Number(facts.root_version ?? 1),
  previousFingerprint: facts.root_previous_fingerprint,
  carried: facts.carried_keys,
})
