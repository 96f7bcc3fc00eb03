import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import { keepRevocationsFile, type RevocationsKeeper } from '../backup/keep-revocations.ts'
import type { Batches } from '../batches/batches.ts'
import { openRefreshedCatalogue, type RefreshedCatalogue } from '../catalogue/refresh.ts'
import type { Config } from '../config/config.ts'
import { type Kind, toBlindIndexText } from '../crypto/blind-index.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { RootKeys } from '../crypto/root-key.ts'
import type { Authenticate } from '../keys/authenticate.ts'
import type { RateLimit } from '../keys/rate-limit.ts'
import type { Registry } from '../registry/registry.ts'
import type { RequestLog } from '../requests/request-log.ts'
import { createLatencies, type Latencies } from '../statistics/latencies.ts'
import { createSourceCalls, type SourceCalls } from '../statistics/source-calls.ts'
import { openSealedStore } from '../store/sealed-store.ts'
import type { Store } from '../store/store.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { GuessLimit } from '../verification/guess-limit.ts'
import type { Idempotency } from '../verification/idempotency.ts'
import type { QueueDeps } from '../verification/queue/queue-deps.ts'
import { createReuse, type Reuse } from '../verification/reuse.ts'
import { createSingleFlight, type SingleFlight } from '../verification/single-flight.ts'
import type { LocalDeps, Sources } from '../verification/verification-deps.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { startCleanup } from './cleanup.ts'
import { listConnectionWarnings } from './connection-warnings.ts'
import { createFatalStop, type FatalStop } from './fatal-stop.ts'
import type { Metrics } from './metrics.ts'
import { type Nodes, openNodes } from './nodes.ts'
import { openAudit } from './open-audit.ts'
import { startBatches } from './open-batches.ts'
import { openAuthenticate, openFindCaller, openRateLimit } from './open-keys.ts'
import { openQueue, startQueue, toCleanup } from './open-queue.ts'
import { openRegistry, openScrub } from './open-registry.ts'
import { openRequests } from './open-requests.ts'
import { openTelemetry } from './open-telemetry.ts'
import { openGuessLimit, openIdempotency, openLocal } from './open-verification.ts'
import { openContextWebhooks } from './open-webhooks.ts'
import { createRetention } from './retention.ts'
import { openSourceChain, type SourceChain } from './source-chain.ts'
import { openTlsCertificate, type TlsCertificate } from './tls-certificate.ts'

/** Everything that requests need. It is built once and passed as an argument. */
export type Context = {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  /** Undefined: requests are not traced. */
  readonly tracing: Tracing | undefined
  readonly store: Store
  readonly rootKeys: RootKeys
  /** The current keys: a rotation replaces them while the server runs. */
  readonly keyring: () => Keyring
  readonly authenticate: Authenticate
  readonly rateLimit: RateLimit | undefined
  /** Undefined: the listeners speak plain HTTP. */
  readonly certificate: TlsCertificate | undefined
  readonly catalogue: RefreshedCatalogue
  readonly registry: Registry
  readonly guessLimit: GuessLimit
  readonly audit: AuditLog
  readonly idempotency: Idempotency
  readonly singleFlight: SingleFlight
  readonly local: LocalDeps
  readonly queue: QueueDeps
  readonly batches: Batches
  readonly toSubjectHash: (kind: Kind, number: string) => string
  /** Hashes the number of a person, as it is in the audit log. */
  readonly subjectKey: KeyObject
  /** Signs links to pictures. */
  readonly pictureKey: KeyObject
  readonly sources: Sources
  readonly sourceChain: SourceChain
  readonly askNext: boolean
  readonly reuse: Reuse | undefined
  readonly latencies: Latencies
  /** Undefined: TABBAT_REQUESTS_KEEP is off. */
  readonly requests: RequestLog | undefined
  readonly sourceCalls: SourceCalls
  /** The servers of this database. */
  readonly nodes: Nodes
  readonly webhooks: Webhooks
  /** Notes in a file outside the database what was revoked. */
  readonly revocations: RevocationsKeeper
  /** About the connections to PostgreSQL. */
  readonly databaseWarnings: readonly string[]
  /** `stopping` is set by the first SIGTERM or SIGINT: the server is no longer ready and finishes its requests. */
  readonly lifecycle: { stopping: boolean }
  readonly close: () => Promise<void>
}

export async function createContext(
  config: Config,
  log = createLog(config.logLevel, config.logFile),
  workerNumber = 1,
): Promise<Context> {
  const fatal = createFatalStop(log)
  const certificate = openTlsCertificate(config, log)
  const { store, rootKeys, keyring } = await openServerStore(config, fatal)
  const { registry, currentKeyring } = openRegistry(config, store, keyring)
  // Fails while a root key rotation runs. They are then planted at the next start.
  await registry.insertDecoys().catch(log.failure)
  const scrub = workerNumber === 1 ? await openScrub(config, store, currentKeyring, log, fatal) : undefined
  const guessLimit = await openGuessLimit(config, store, workerNumber)
  const databaseWarnings = await listConnectionWarnings(config, store)
  const alarms = { reportAuditFailure: () => {} }
  const onUnavailable = () => alarms.reportAuditFailure()
  const { audit, recent } = await openAudit(config, store, keyring, log, fatal, onUnavailable)
  const idempotency = openIdempotency(config, store, keyring, audit)
  const { sourceChain, catalogue, sourceCalls } = await openSources(config, { store, registry, audit, log })
  const webhooks = openContextWebhooks(config, { store, keyring, log, audit, sourceChain })
  alarms.reportAuditFailure = webhooks.reportAuditFailure
  const latencies = createLatencies(store.statistics, audit.owner)
  const requestLog = openRequests(config, { store, log, owner: audit.owner, workerNumber })
  const self = { owner: audit.owner, node: loadNodeName(config.dataDir), worker: workerNumber }
  const nodes = await openNodes({ table: store.nodes, self, learning: [catalogue, sourceChain] })
  const queue = openQueue(config, store, keyring, { findCaller: openFindCaller(config, store), ...webhooks })
  const measured = { sourceChain, audit, webhooks, queue, certificate }
  const described = { ...measured, ...requestLog, store, log, workerNumber, node: self.node }
  const telemetry = await openTelemetry(config, described)
  const rateLimit = openRateLimit(config, store, nodes)
  const batches = startBatches(config, { store, audit, queue, log })
  const forgetting = [guessLimit, idempotency, sourceChain, nodes, webhooks, batches, toCleanup(queue)]
  const retention = createRetention(config, { store, audit, keyring, log, workerNumber })
  const cleanupConfig = { ...config, keyring, workerNumber, recent }
  const stopCleanup = startCleanup(log, store, [...forgetting, retention], cleanupConfig)
  const revocations = keepRevocationsFile({ tables: store, keyring, config, log, workerNumber })
  const context: Omit<Context, 'close'> = {
    config,
    log,
    ...telemetry,
    store,
    rootKeys,
    keyring: currentKeyring,
    authenticate: openAuthenticate(config, store, keyring),
    ...{ rateLimit, certificate, catalogue, registry, guessLimit, audit, idempotency },
    singleFlight: createSingleFlight(),
    local: openLocal(store, keyring, audit),
    ...{ queue, batches, webhooks, revocations },
    ...{ subjectKey: keyring.subject, pictureKey: keyring['media-url'] },
    toSubjectHash: (kind, number) => toBlindIndexText(keyring.subject, kind, number),
    sources: sourceChain.sources,
    sourceChain,
    askNext: config.notFound === 'next',
    reuse: config.reuse === 'off' ? undefined : createReuse(store.reuse, keyring, config.reuse),
    ...{ latencies, sourceCalls, requests: requestLog.requests, nodes, databaseWarnings },
    lifecycle: { stopping: false },
  }
  const stopQueue = startQueue(context)
  return {
    ...context,
    close: () => closeAll({ ...context, stopQueue, stopCleanup, scrub, requestLog, telemetry }),
  }
}

type Closing = Pick<
  Context,
  | 'certificate'
  | 'rateLimit'
  | 'nodes'
  | 'webhooks'
  | 'batches'
  | 'catalogue'
  | 'sourceChain'
  | 'guessLimit'
  | 'latencies'
  | 'sourceCalls'
  | 'audit'
  | 'store'
  | 'revocations'
> & {
  readonly stopCleanup: () => Promise<void>
  readonly stopQueue: () => Promise<void>
  readonly scrub: { readonly close: () => Promise<void> } | undefined
  readonly telemetry: { readonly close: () => Promise<void> }
  readonly requestLog: { readonly close: () => Promise<void> }
}

/** In the order of dependence: the store is last. */
async function closeAll(parts: Closing): Promise<void> {
  const { certificate, rateLimit, stopCleanup, nodes, scrub, webhooks, catalogue, sourceChain } = parts
  await parts.batches.close()
  await parts.stopQueue()
  const sending = parts.telemetry.close()
  certificate?.close()
  rateLimit?.close?.()
  await Promise.all([stopCleanup(), nodes.close()])
  await parts.revocations.stop()
  await scrub?.close()
  await catalogue.close()
  await sourceChain.close()
  await parts.guessLimit.finish()
  await parts.latencies.close()
  await parts.requestLog.close()
  await parts.sourceCalls.close()
  await parts.audit.checkpointLast()
  // It delivers the last checkpoint, and may still record that it disabled an endpoint.
  await webhooks.close()
  await parts.audit.close()
  await parts.store.close()
  await sending
}

function openServerStore(config: Config, fatal: FatalStop) {
  const { storeTimeout: timeoutMs, databaseConnections } = config
  return openSealedStore(config, {
    writerThread: true,
    onFatal: fatal.notice,
    timeoutMs,
    databaseConnections,
  })
}

type SourceDeps = Pick<Context, 'store' | 'registry' | 'audit' | 'log'>

async function openSources(config: Config, { store, registry, audit, log }: SourceDeps) {
  const sourceCalls = createSourceCalls(store.sourceCalls, audit.owner)
  const chainDeps = {
    registry,
    table: store.sources,
    orders: store.sourceOrders,
    node: audit.owner,
    log,
    calls: sourceCalls,
  }
  const sourceChain = await openSourceChain(config, chainDeps)
  const catalogueDeps = { table: store.catalogue, reviews: store.reviews, audit, switches: store.sources }
  const catalogue = await openRefreshedCatalogue(config, catalogueDeps, log)
  return { sourceChain, catalogue, sourceCalls }
}
