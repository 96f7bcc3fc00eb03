import type { AuditTable } from '../audit/audit-table.ts'
import { hasCrashed, loadNodeName } from '../audit/chain-claim.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { RootKeySettings } from '../crypto/root-key.ts'
import { loadKeyring } from '../database/load-keyring.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { OpenDatabase } from '../database/open-database.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import type { Log } from '../telemetry/log.ts'
import { createRegistry } from './registry.ts'
import type { RegistryTable } from './registry-table.ts'
import { createScrub, type Scrub } from './scrub.ts'
import type { RegistrySettings } from './settings.ts'

/** The registry. It reloads its keys after a rotation. */
export function openRegistry(
  config: RootKeySettings,
  store: { readonly registry: RegistryTable; readonly meta: MetaTable },
  first: Keyring,
) {
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
  store: Pick<OpenDatabase, 'database' | 'place'> & { readonly meta: MetaTable; readonly audit: AuditTable },
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
