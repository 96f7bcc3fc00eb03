import cluster from 'node:cluster'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { createAuthenticate } from '../keys/authenticate.ts'
import { createFindCaller } from '../keys/find-caller.ts'
import { createNodeRateLimit } from '../keys/node-leases.ts'
import { createRateLimit, type RateLimit } from '../keys/rate-limit.ts'
import { createLeasedRateLimit } from '../keys/worker-leases.ts'
import { isLoopback } from '../settings/setting.ts'
import type { Store } from '../store/store.ts'
import type { Nodes } from './nodes.ts'

/** On PostgreSQL all processes share a limit. On SQLite, with several workers, the primary process counts for all of them. */
export function openRateLimit(
  config: Config,
  { rates }: Store,
  { countProcesses }: Nodes,
): RateLimit | undefined {
  const { rateLimit, databaseUrl } = config
  if (rateLimit === 'off') return undefined
  if (databaseUrl !== undefined)
    return createNodeRateLimit({ limit: rateLimit, table: rates, countProcesses })
  return cluster.isWorker ? createLeasedRateLimit(rateLimit) : createRateLimit(rateLimit)
}

export const openAuthenticate = (config: Config, { keys }: Store, keyring: Keyring) =>
  createAuthenticate({
    keys,
    pepper: keyring['api-key-pepper'],
    testKeys: config.sandbox !== 'off',
    publicSandboxKey: hasPublicSandboxKey(config),
  })

export const openFindCaller = (config: Config, { keys }: Store) =>
  createFindCaller({
    keys,
    testKeys: config.sandbox !== 'off',
    publicSandboxKey: hasPublicSandboxKey(config),
  })

/** On by default only where no other machine can reach the server. */
export const hasPublicSandboxKey = ({ sandbox, host }: Pick<Config, 'sandbox' | 'host'>) =>
  sandbox === 'on' || (sandbox === undefined && isLoopback(host))
