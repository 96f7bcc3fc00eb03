import cluster from 'node:cluster'
import type { Keyring } from '../crypto/keyring.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import { isLoopback } from '../settings/setting.ts'
import { createAuthenticate } from './authenticate.ts'
import { createFindCaller } from './find-caller.ts'
import type { KeyTable } from './key-table.ts'
import { createNodeRateLimit } from './node-leases.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import type { RateTable } from './rate-table.ts'
import type { KeySettings } from './settings.ts'
import { createLeasedRateLimit } from './worker-leases.ts'

type SandboxSettings = Pick<KeySettings, 'sandbox'> & { readonly host: string }

/** On PostgreSQL all processes share a limit. On SQLite, with several workers, the primary process counts for all of them. */
export function openRateLimit(
  config: Pick<KeySettings, 'rateLimit'> & Pick<DatabaseSettings, 'databaseUrl'>,
  { rates }: { readonly rates: RateTable },
  { countProcesses }: { readonly countProcesses: () => number },
): RateLimit | undefined {
  const { rateLimit, databaseUrl } = config
  if (rateLimit === 'off') return undefined
  if (databaseUrl !== undefined)
    return createNodeRateLimit({ limit: rateLimit, table: rates, countProcesses })
  return cluster.isWorker ? createLeasedRateLimit(rateLimit) : createRateLimit(rateLimit)
}

export const openAuthenticate = (
  config: SandboxSettings,
  { keys }: { readonly keys: KeyTable },
  keyring: Keyring,
) =>
  createAuthenticate({
    keys,
    pepper: keyring['api-key-pepper'],
    testKeys: config.sandbox !== 'off',
    publicSandboxKey: hasPublicSandboxKey(config),
  })

export const openFindCaller = (config: SandboxSettings, { keys }: { readonly keys: KeyTable }) =>
  createFindCaller({
    keys,
    testKeys: config.sandbox !== 'off',
    publicSandboxKey: hasPublicSandboxKey(config),
  })

/** On by default only where no other machine can reach the server. */
export const hasPublicSandboxKey = ({ sandbox, host }: SandboxSettings) =>
  sandbox === 'on' || (sandbox === undefined && isLoopback(host))
