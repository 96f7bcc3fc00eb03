import { hasCrashed, loadNodeName } from '../audit/chain-claim.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { createRegistry } from '../registry/registry.ts'
import { createScrub, type Scrub } from '../registry/scrub.ts'
import { loadKeyring } from '../store/sealed-store.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { FatalStop } from './fatal-stop.ts'

/** The registry. It reloads its keys after a rotation. */
export function openRegistry(config: Config, store: Store, first: Keyring) {
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
  config: Config,
  store: Store,
  keyring: () => Keyring,
  log: Log,
  fatal: FatalStop,
): Promise<Scrub> {
  const { dataDir, databaseUrl, scrub: everyMs } = config
  const storeOptions = { dataDir, databaseUrl }
  const scrub = createScrub({ everyMs, store, storeOptions, keyring, log, onFatal: fatal.notice })
  if (await hasCrashed(store.audit, loadNodeName(dataDir))) await scrub.afterCrash()
  scrub.start()
  return scrub
}
