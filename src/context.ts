import { type Catalogue, loadCatalogue } from './catalogue/catalogue.ts'
import { type Config, isLoopback } from './config.ts'
import type { RootKey } from './crypto/root-key.ts'
import { createOverload, type Overload } from './http/overload.ts'
import { type Authenticate, createAuthenticate } from './keys/authenticate.ts'
import { createRateLimit, type RateLimit } from './keys/rate-limit.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { openSealedStore } from './sealed-store.ts'
import { createSandboxSource } from './sources/sandbox/index.ts'
import type { Store } from './store/store.ts'
import type { Sources } from './verification/verify.ts'

/** Everything a request needs, built once and handed down as an argument. */
export type Context = {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly store: Store
  readonly rootKey: RootKey
  readonly authenticate: Authenticate
  readonly rateLimit: RateLimit | undefined
  readonly overload: Overload
  readonly catalogue: Catalogue
  readonly sources: Sources
  /** Turned on by the first signal to stop: the server is not ready any more, and finishes what it has. */
  readonly lifecycle: { stopping: boolean }
  readonly close: () => Promise<void>
}

export async function createContext(config: Config, log = createLog(config.logLevel)): Promise<Context> {
  const { store, rootKey } = await openSealedStore(config)
  const overload = createOverload(config.maxInFlight)
  const sandbox = [createSandboxSource()]
  return {
    config,
    log,
    metrics: createMetrics(),
    store,
    rootKey,
    authenticate: createAuthenticate({
      keys: store.keys,
      pepper: rootKey.keys['api-key-pepper'],
      testKeys: config.sandbox !== 'off',
      publicSandboxKey: hasPublicSandboxKey(config),
    }),
    rateLimit: config.rateLimit === 'off' ? undefined : createRateLimit(config.rateLimit),
    overload,
    catalogue: loadCatalogue(),
    sources: { test: { nin: sandbox, bvn: sandbox }, live: { nin: [], bvn: [] } },
    lifecycle: { stopping: false },
    close: async () => {
      overload.close()
      await store.close()
    },
  }
}

/** On by default only where nobody else can reach it. */
export const hasPublicSandboxKey = ({ sandbox, host }: Pick<Config, 'sandbox' | 'host'>) =>
  sandbox === 'on' || (sandbox === undefined && isLoopback(host))
