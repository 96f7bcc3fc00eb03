import cluster from 'node:cluster'
import type { AuditLog } from '../audit/audit-log.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import { openAudit } from '../audit/open-audit.ts'
import { keepRevocationsFile } from '../backup/find-revocations.ts'
import { openBatches } from '../batches/batches.ts'
import { openCatalogue } from '../catalogue/live-catalogue.ts'
import type { Config } from '../context/config.ts'
import type { Context } from '../context/context.ts'
import { openNodes } from '../context/nodes.ts'
import { openSealedStore } from '../context/sealed-store.ts'
import { listConnectionWarnings } from '../context/warnings.ts'
import { toBlindIndexText } from '../crypto/mac.ts'
import { toFatal } from '../database/failure.ts'
import { openTlsCertificate } from '../http/tls-listener.ts'
import { openAuthenticate, openFindCaller } from '../keys/authenticate.ts'
import { openRateLimit } from '../keys/rate-limit.ts'
import { openNotices } from '../notices/notices.ts'
import { openRegistry, toRegistrySource } from '../registry/registry.ts'
import { openScrub } from '../registry/scrub.ts'
import { openRequests, type RequestLog } from '../requests/request-log.ts'
import { createSingleFlight } from '../sources/single-flight.ts'
import { openSourceChain } from '../sources/source-chain.ts'
import { type Answers, createAnswers } from '../statistics/answers.ts'
import { createLatencies, createSourceCalls } from '../statistics/counters.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { createQuestion } from '../telemetry/worker-question.ts'
import { openGuessLimit } from '../verification/guess-limit.ts'
import { openIdempotency } from '../verification/idempotency.ts'
import { openLocal } from '../verification/open-local.ts'
import { openQueue, toCleanup } from '../verification/queue/open-queue.ts'
import { startQueue } from '../verification/queue/worker.ts'
import { createReuse } from '../verification/reuse.ts'
import { openWebhooks } from '../webhooks/webhooks.ts'
import { createRetention, startCleanup } from './cleanup.ts'
import { openTelemetry } from './open-telemetry.ts'

export async function createContext(
  config: Config,
  log = createLog(config.logLevel, config.logFile),
  workerNumber = 1,
  mustExist = false,
  /** False: SQLite is written in this thread, so that it has one clock. */
  writerThread = true,
): Promise<Context> {
  const opening = { mustExist, writerThread }
  const { base, keyring, recent, alarms, scrub } = await openBase(config, log, workerNumber, opening)
  const { store, audit, registry, guessLimit, certificate } = base
  const { sourceChain, catalogue, sourceCalls } = await openSources(config, { store, registry, audit, log })
  const node = loadNodeName(config.dataDir)
  const webhooks = openWebhooks({ store, keyring, config, log, audit, node, sourceChain })
  alarms.reportAuditFailure = webhooks.reportAuditFailure
  const latencies = createLatencies(store.statistics, audit.owner)
  const answers = createAnswers(store.statistics, audit.owner)
  const requestLog = openRequests(config, { store, log, owner: audit.owner, workerNumber })
  const self = { owner: audit.owner, node, worker: workerNumber }
  const nodes = await openNodes({ table: store.nodes, self, learning: [catalogue, sourceChain] })
  const idempotency = openIdempotency(config, store, keyring, audit, nodes)
  const queue = openQueue(config, store, keyring, { findCaller: openFindCaller(config, store), ...webhooks })
  const measured = { sourceChain, audit, webhooks, queue, certificate }
  const described = { ...measured, ...requestLog, store, log, workerNumber, node, isDemo: base.isDemo }
  const telemetry = await openTelemetry(config, described)
  const pictureKey = () => base.keyring()['media-url']
  const batches = openBatches(config, { store, audit, queue, pictureKey, log })
  const cleanedUp = [guessLimit, idempotency, sourceChain, nodes, webhooks, batches, toCleanup(queue)]
  const retention = createRetention(config, { store, audit, keyring, log, workerNumber })
  const cleanupConfig = { ...config, keyring, workerNumber, recent }
  const cleanup = startCleanup(log, store, [...cleanedUp, base.notices, retention], cleanupConfig)
  const context: Omit<Context, 'close'> = {
    ...base,
    ...telemetry,
    authenticate: openAuthenticate(config, store, keyring),
    rateLimit: openRateLimit(config, store, nodes),
    catalogue,
    idempotency,
    singleFlight: createSingleFlight(),
    local: openLocal(store, keyring, audit),
    queue,
    batches,
    webhooks,
    revocations: keepRevocationsFile({ tables: store, keyring, config, log, workerNumber }),
    subjectKey: keyring.subject,
    pictureKey,
    toSubjectHash: (kind, number) => toBlindIndexText(keyring.subject, kind, number),
    sources: sourceChain.sources,
    sourceChain,
    leases: sourceChain.leases,
    askNext: config.notFound === 'next',
    reuse: config.reuse === 'off' ? undefined : createReuse(store.reuse, keyring, config.reuse),
    latencies,
    answers,
    inMemory: openInMemory(answers, requestLog.requests),
    sourceCalls,
    requests: requestLog.requests,
    nodes,
    nextCleanupAt: cleanup.nextAt,
    lifecycle: { stopping: false },
  }
  const stopQueue = startQueue(context)
  return {
    ...context,
    close: () => closeAll({ ...context, stopQueue, stopCleanup: cleanup.stop, scrub, requestLog, telemetry }),
  }
}

/** What everything else needs: the store with its keys, the registry and the audit log. */
async function openBase(
  config: Config,
  log: Log,
  workerNumber: number,
  opening: { readonly mustExist: boolean; readonly writerThread: boolean },
) {
  const fatal = createFatalStop(log)
  const certificate = openTlsCertificate(config, log)
  const { store, rootKeys, keyring, isDemo } = await openSealedStore(config, {
    ...opening,
    onFatal: fatal.notice,
    onSchemaWait: () => log.event('warn', 'schema_waits'),
    timeoutMs: config.storeTimeout,
    databaseConnections: config.databaseConnections,
  })
  const { registry, currentKeyring, refreshKeyring } = openRegistry(config, store, keyring)
  // Fails while a root key rotation runs. They are then planted at the next start.
  await registry.insertDecoys().catch(log.failure)
  const scrub =
    workerNumber === 1 ? await openScrub(config, store, currentKeyring, log, fatal.notice) : undefined
  const guessLimit = await openGuessLimit(config, store, workerNumber)
  const databaseWarnings = await listConnectionWarnings(config, store)
  const alarms = { reportAuditFailure: () => {} }
  const onUnavailable = () => alarms.reportAuditFailure()
  const auditDeps = { store, keyring, log, onUnavailable, onCorruption: fatal.stop }
  const { audit, recent } = await openAudit(config, auditDeps)
  fatal.audit = audit
  const notices = openNotices({ table: store.incidents, config, log, node: loadNodeName(config.dataDir) })
  const opened = { config, log, certificate, store, rootKeys, isDemo, registry, guessLimit, audit }
  const base = { ...opened, databaseWarnings, keyring: currentKeyring, refreshKeyring, notices }
  return { base, keyring, recent, alarms, scrub }
}

type Closing = Omit<Context, 'close'> & {
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
  await parts.notices.close()
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
  await parts.idempotency.close()
  await parts.latencies.close()
  await parts.answers.close()
  await parts.requestLog.close()
  await parts.sourceCalls.close()
  await parts.audit.checkpointLast()
  // It delivers the last checkpoint, and may still record that it disabled an endpoint.
  await webhooks.close()
  await parts.audit.close()
  await parts.store.close()
  await sending
}

/** Of all workers of this node. */
function openInMemory(answers: Answers, requests: RequestLog | undefined): Context['inMemory'] {
  const askAnswers = createQuestion('answers', answers.list)
  const askRequests = createQuestion('requests', () => requests?.listUnwritten() ?? [])
  return {
    answers: async () => (await askAnswers()).flat(),
    requests: async () => (await askRequests()).flat(),
  }
}

type SourceDeps = Pick<Context, 'store' | 'registry' | 'audit' | 'log'>

async function openSources(config: Config, { store, registry, audit, log }: SourceDeps) {
  const sourceCalls = createSourceCalls(store.sourceCalls, audit.owner)
  const chainDeps = {
    registry: toRegistrySource(registry),
    table: store.sources,
    spend: store.spend,
    orders: store.sourceOrders,
    node: audit.owner,
    log,
    calls: sourceCalls,
  }
  const sourceChain = await openSourceChain(config, chainDeps)
  const catalogueDeps = { table: store.catalogue, reviews: store.reviews, audit, switches: store.sources }
  const catalogue = await openCatalogue(config, catalogueDeps, log)
  return { sourceChain, catalogue, sourceCalls }
}

/** Time to send the error responses of running requests. Nothing is disclosed meanwhile: the audit log refuses rows. */
const GRACE_MS = 100

/** Exits with code 1 when the database is damaged or lost, or its disk fails. One log event says which. */
type FatalStop = {
  readonly stop: (error: unknown) => void
  /** For failures of the store. An open audit log refuses rows from then on. */
  readonly notice: (error: unknown) => void
  audit: AuditLog | undefined
}

function createFatalStop(log: Log): FatalStop {
  let isStopping = false
  const stop = (error: unknown) => {
    if (isStopping) return
    isStopping = true
    log.event('error', toFatal(error) ?? 'database_damaged')
    log.failure(error)
    log.flush()
    setTimeout(() => {
      log.flush()
      // All workers stop, without the delay of SIGTERM: they share the database, and a restarted worker would create an empty one.
      if (cluster.isWorker) process.kill(process.ppid, 'SIGINT')
      process.exit(1)
    }, GRACE_MS)
  }
  const fatalStop: FatalStop = {
    stop,
    audit: undefined,
    notice: (error) => {
      if (fatalStop.audit) fatalStop.audit.reportFailure(error)
      else stop(error)
    },
  }
  return fatalStop
}
