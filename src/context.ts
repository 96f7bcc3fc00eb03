import { type AuditLog, openAuditLog } from './audit/audit-log.ts'
import { loadNodeName } from './audit/chain-claim.ts'
import { createSigner } from './audit/signing.ts'
import { type Catalogue, loadCatalogue } from './catalogue/catalogue.ts'
import { type Config, isLoopback, type SourceName } from './config.ts'
import { type Kind, toBlindIndex } from './crypto/blind-index.ts'
import type { Keyring } from './crypto/keyring.ts'
import type { RootKeys } from './crypto/root-key.ts'
import { createOverload, type Overload } from './http/overload.ts'
import { type Authenticate, createAuthenticate } from './keys/authenticate.ts'
import { createRateLimit, type RateLimit } from './keys/rate-limit.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { toMediaPath } from './registry/media-link.ts'
import { createRegistry, type Registry } from './registry/registry.ts'
import { loadKeyring, openSealedStore } from './sealed-store.ts'
import { openVendor } from './sources/index.ts'
import { createRegistrySource } from './sources/registry/index.ts'
import { createSandboxSource } from './sources/sandbox/index.ts'
import type { Source } from './sources/source.ts'
import type { Store } from './store/store.ts'
import { type Attempts, createAttempts } from './verification/attempts.ts'
import { createFlights, type Flights } from './verification/flights.ts'
import { createIdempotency, type Idempotency } from './verification/idempotency.ts'
import type { Sources } from './verification/verify.ts'

/** Everything a request needs, built once and handed down as an argument. */
export type Context = {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  readonly store: Store
  readonly rootKeys: RootKeys
  /** The keys as they are now: a rotation replaces them while the server runs. */
  readonly keyring: () => Keyring
  readonly authenticate: Authenticate
  readonly rateLimit: RateLimit | undefined
  readonly overload: Overload
  readonly catalogue: Catalogue
  readonly registry: Registry
  readonly attempts: Attempts
  readonly audit: AuditLog
  readonly idempotency: Idempotency
  readonly flights: Flights
  readonly toSubjectHash: (kind: Kind, number: string) => string
  readonly sources: Sources
  /** Turned on by the first signal to stop: the server is not ready any more, and finishes what it has. */
  readonly lifecycle: { stopping: boolean }
  readonly close: () => Promise<void>
}

/** Old attempts are taken away now and then; they count for a day. */
const FORGET_EVERY_MS = 3_600_000

export async function createContext(config: Config, log = createLog(config.logLevel)): Promise<Context> {
  const { store, rootKeys, keyring: first } = await openSealedStore(config, { writerThread: true })
  let keyring = first
  const registry = createRegistry({
    table: store.registry,
    keyring: () => keyring,
    reloadKeyring: async () => {
      keyring = (await loadKeyring(config, store)).keyring
      return keyring
    },
  })
  // A rotation that begins right now may refuse them; they are planted at the next start, then.
  await registry.plantDecoys().catch(log.failure)
  const attempts = createAttempts(store.attempts, keyring.subject, loadNodeName(config.dataDir))
  await attempts.recover()
  const audit = await openAudit(config, store, keyring, log)
  const idempotency = createIdempotency(store.idempotency, keyring, audit.owner)
  const forget = () => void Promise.all([attempts.forget(), idempotency.forget()]).catch(log.failure)
  const forgetting = setInterval(forget, FORGET_EVERY_MS).unref()
  const overload = createOverload(config.maxInFlight)
  const sources = await openSources(config, registry, () => keyring)
  return {
    config,
    log,
    metrics: createMetrics(),
    store,
    rootKeys,
    keyring: () => keyring,
    authenticate: createAuthenticate({
      keys: store.keys,
      pepper: keyring['api-key-pepper'],
      testKeys: config.sandbox !== 'off',
      publicSandboxKey: hasPublicSandboxKey(config),
    }),
    rateLimit: config.rateLimit === 'off' ? undefined : createRateLimit(config.rateLimit),
    overload,
    catalogue: loadCatalogue(),
    registry,
    attempts,
    audit,
    idempotency,
    flights: createFlights(),
    toSubjectHash: (kind, number) => toBlindIndex(keyring.subject, kind, number).toString('hex'),
    sources,
    lifecycle: { stopping: false },
    close: async () => {
      clearInterval(forgetting)
      overload.close()
      await sources.close()
      await audit.close()
      await store.close()
    },
  }
}

function openAudit(config: Config, store: Store, keyring: Keyring, log: Log): Promise<AuditLog> {
  return openAuditLog({
    table: store.audit,
    signer: createSigner(keyring['audit-signing']),
    dataDir: config.dataDir,
    checkpointDir: config.checkpointDir ?? config.dataDir,
    onTrouble: (error) => {
      log.event('error', 'audit_unavailable')
      log.failure(error)
    },
    onCorruption: (error) => {
      log.event('error', 'database_damaged')
      log.failure(error)
      log.flush()
      process.exit(1)
    },
  })
}

async function openSources(
  config: Config,
  registry: Registry,
  keyring: () => Keyring,
): Promise<Sources & { readonly close: () => Promise<void> }> {
  const sandbox = [createSandboxSource()]
  const options = { vendors: config.vendors, allowPrivate: config.sourcesPrivate === 'on' }
  const names = [...new Set([...config.ninSources, ...config.bvnSources])]
  const opened = new Map<SourceName, Source>()
  for (const name of names)
    opened.set(
      name,
      name === 'registry' ? openRegistrySource(registry, keyring) : await openVendor(name, options),
    )
  const inOrder = (order: readonly SourceName[]) => order.map((name) => opened.get(name) as Source)
  return {
    test: { nin: sandbox, bvn: sandbox },
    live: { nin: inOrder(config.ninSources), bvn: inOrder(config.bvnSources) },
    close: async () => {
      for (const source of opened.values()) await source.close?.()
    },
  }
}

const openRegistrySource = (registry: Registry, keyring: () => Keyring) =>
  createRegistrySource({
    isEmpty: registry.isEmpty,
    findBvn: async (bvn) => (await registry.find('bvn', bvn))?.record,
    findNin: async (nin) => {
      const entry = await registry.find('nin', nin)
      if (!entry) return undefined
      const { record, mediaId } = entry
      const image_url =
        mediaId === null ? '' : toMediaPath(keyring()['media-url'], Buffer.from(mediaId, 'hex'))
      return { ...record, personal_info: { ...record.personal_info, image_url } }
    },
  })

/** On by default only where nobody else can reach it. */
export const hasPublicSandboxKey = ({ sandbox, host }: Pick<Config, 'sandbox' | 'host'>) =>
  sandbox === 'on' || (sandbox === undefined && isLoopback(host))
