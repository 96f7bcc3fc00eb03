import type { KeyObject } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.ts'
import type { RevocationsKeeper } from '../backup/find-revocations.ts'
import type { Batches } from '../batches/batches.ts'
import type { LiveCatalogue } from '../catalogue/live-catalogue.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Kind } from '../crypto/mac.ts'
import type { RootKeys } from '../crypto/root-key.ts'
import type { TlsCertificate } from '../http/tls-listener.ts'
import type { Authenticate } from '../keys/authenticate.ts'
import type { RateLimit } from '../keys/rate-limit.ts'
import type { Notices } from '../notices/notices.ts'
import type { Registry } from '../registry/registry.ts'
import type { LoggedRequest } from '../requests/block-writer.ts'
import type { RequestLog } from '../requests/request-log.ts'
import type { SingleFlight } from '../sources/single-flight.ts'
import type { SourceChain, Sources } from '../sources/source-chain.ts'
import type { SpendLeases } from '../sources/spend-leases.ts'
import type { Answers, HeldCount } from '../statistics/answers.ts'
import type { Latencies, SourceCalls } from '../statistics/counters.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metric.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { GuessLimit } from '../verification/guess-limit.ts'
import type { Idempotency } from '../verification/idempotency.ts'
import type { LocalDeps } from '../verification/open-local.ts'
import type { QueueDeps } from '../verification/queue/open-queue.ts'
import type { Reuse } from '../verification/reuse.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Config } from './config.ts'
import type { Nodes } from './nodes.ts'
import type { Store } from './store.ts'

/** Everything that requests need. It is built once and passed as an argument. */
export type Context = {
  readonly config: Config
  readonly log: Log
  readonly metrics: Metrics
  /** Undefined: requests are not traced. */
  readonly tracing: Tracing | undefined
  readonly store: Store
  readonly rootKeys: RootKeys
  /** `tabbat demo` made the data: nothing of it is real. */
  readonly isDemo: boolean
  /** The current keys: a rotation replaces them while the server runs. */
  readonly keyring: () => Keyring
  /** The keys as the database has them, which another process may have changed. It is asked once a second at most. */
  readonly refreshKeyring: () => Promise<Keyring>
  readonly authenticate: Authenticate
  readonly rateLimit: RateLimit | undefined
  /** Undefined: the listeners speak plain HTTP. */
  readonly certificate: TlsCertificate | undefined
  readonly catalogue: LiveCatalogue
  readonly registry: Registry
  readonly guessLimit: GuessLimit
  readonly audit: AuditLog
  readonly idempotency: Idempotency
  readonly singleFlight: SingleFlight
  readonly leases: SpendLeases
  readonly local: LocalDeps
  readonly queue: QueueDeps
  readonly batches: Batches
  readonly toSubjectHash: (kind: Kind, number: string) => string
  /** Hashes the number of a person, as it is in the audit log. */
  readonly subjectKey: KeyObject
  /** Signs links to pictures. */
  readonly pictureKey: () => KeyObject
  readonly sources: Sources
  readonly sourceChain: SourceChain
  readonly askNext: boolean
  readonly reuse: Reuse | undefined
  readonly latencies: Latencies
  readonly answers: Answers
  /** When this process next deletes or archives what is older than the settings allow. */
  readonly nextCleanupAt: () => number
  /** What the processes of this node have in memory. Some of it may not be in the store yet. */
  readonly inMemory: {
    readonly answers: () => Promise<HeldCount[]>
    /** The newest of the last seconds. */
    readonly requests: () => Promise<LoggedRequest[]>
  }
  /** Undefined: TABBAT_REQUESTS_KEEP is off. */
  readonly requests: RequestLog | undefined
  readonly sourceCalls: SourceCalls
  /** The servers of this database. */
  readonly nodes: Nodes
  readonly webhooks: Webhooks
  readonly notices: Notices
  /** Notes in a file outside the database what was revoked. */
  readonly revocations: RevocationsKeeper
  /** About the connections to PostgreSQL. */
  readonly databaseWarnings: readonly string[]
  /** `stopping` is set by the first SIGTERM or SIGINT: the server is no longer ready and finishes its requests. */
  readonly lifecycle: { stopping: boolean }
  readonly close: () => Promise<void>
}
