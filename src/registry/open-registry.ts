import { hasCrashed, loadNodeName } from '../audit/chain-claim.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import { loadKeyring, type SealedStoreSettings } from '../store/sealed-store.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { createRegistry } from './registry.ts'
import { createScrub, type Scrub } from './scrub.ts'
import type { RegistrySettings } from './settings.ts'

/** The registry. It reloads its keys after a rotation. */
export function openRegistry(config: SealedStoreSettings, store: Store, first: Keyring) {
  let keyring = first
  let reloading: Promise<Keyring> | undefined
  const reload = async () => {
    keyring = (await loadKeyring(config, store)).keyring
    return keyring
  }
  const registry = createRegistry({
    table: store.registry,
    keyring: () => keyring,
    // Shared by all requests that wait for it: it may run a command.
    reloadKeyring: () => {
      reloading ??= reload().finally(() => {
        reloading = undefined
      })
      return reloading
    },
  })
  return { registry, currentKeyring: () => keyring }
}

/** Only the first worker searches for damage. After a crash it searches before the server is ready, if that takes little time. */
export async function openScrub(
  config: Pick<DatabaseSettings, 'dataDir' | 'databaseUrl'> & Pick<RegistrySettings, 'scrub'>,
  store: Store,
  keyring: () => Keyring,
  log: Log,
  onFatal: (error: unknown) => void,
): Promise<Scrub> {
  const { dataDir, databaseUrl, scrub: everyMs } = config
  const storeOptions = { dataDir, databaseUrl }
  const scrub = createScrub({ everyMs, store, storeOptions, keyring, log, onFatal })
  if (await hasCrashed(store.audit, loadNodeName(dataDir))) await scrub.afterCrash()
  scrub.start()
  return scrub
}
