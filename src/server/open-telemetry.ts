import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { type AuditState, toAuditMetrics } from '../audit/open-audit.ts'
import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { MODES } from '../contract/scope.ts'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { readTableSizes, type TableSizes } from '../database/table-sizes.ts'
import { type ErrorCode, UserError } from '../errors.ts'
import type { TlsCertificate } from '../http/tls-listener.ts'
import type { QueueTable } from '../ledger/queue-table.ts'
import { OPERATIONS, RESOURCE_OPERATIONS } from '../operations/operations.ts'
import type { RequestLog } from '../requests/request-log.ts'
import { createSpendMetric, type SourceChain, toSourceMetrics } from '../sources/source-chain.ts'
import type { Log } from '../telemetry/log.ts'
import {
  createRequestCounts,
  type Metric,
  type Metrics,
  printMetrics,
  type RequestLabels,
  toCounter,
  toGauge,
  toRequestMetrics,
  toSample,
  withLabel,
} from '../telemetry/metric.ts'
import type { Otlp } from '../telemetry/otlp.ts'
import { createProcessMetrics } from '../telemetry/process-metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { joinWorkers, type ProcessFigures } from '../telemetry/worker-metrics.ts'
import type { QueueSignals } from '../verification/queue/open-queue.ts'
import { QUEUE_LANES } from '../verification/queue/worker.ts'
import { VERSION } from '../version.ts'
import { createEndpointMetrics, toWebhookMetrics, type WebhookCounts } from '../webhooks/webhooks.ts'

type TelemetryDeps = {
  readonly store: Store
  readonly log: Log
  readonly node: string
  readonly workerNumber: number
  readonly isDemo: boolean
  readonly sourceChain: Pick<SourceChain, 'guards' | 'connections' | 'listSpend' | 'prices'>
  readonly audit: AuditState
  readonly webhooks: WebhookCounts
  readonly queue: { readonly signals: Pick<QueueSignals, 'ended'> }
  readonly certificate: Pick<TlsCertificate, 'current'> | undefined
  /** Undefined: the request log is off. */
  readonly requests: Pick<RequestLog, 'countDropped'> | undefined
}

/** The metrics, and what is sent to a collector. */
type Telemetry = {
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  /** To be started first and awaited last: a collector that does not answer must not delay the audit log. */
  readonly close: () => Promise<void>
}

export async function openTelemetry(config: Config, deps: TelemetryDeps): Promise<Telemetry> {
  const metrics = createMetrics(config, deps)
  const otlp = await openExport(config, deps, metrics)
  return { metrics, tracing: otlp?.tracing, close: async () => otlp?.close() }
}

/** Undefined unless OTEL_EXPORTER_OTLP_ENDPOINT is set. Only then are the libraries loaded. */
async function openExport(
  config: Config,
  { log, node, workerNumber }: TelemetryDeps,
  { collect }: Metrics,
): Promise<Otlp | undefined> {
  const { otlpEndpoint: endpoint, otelDisabled, otelTraces, otelMetrics } = config
  if (endpoint === undefined || otelDisabled === 'true') return undefined
  const { openOtlp } = await import('../telemetry/otlp.ts')
  return openOtlp({
    endpoint,
    headers: config.otlpHeaders ?? {},
    timeoutMs: config.otlpTimeout,
    compression: config.otlpCompression,
    authority: config.otlpCertificate === undefined ? undefined : readAuthority(config.otlpCertificate),
    traces: otelTraces === 'none' ? undefined : toTraces(config),
    metrics: otelMetrics === 'none' ? undefined : { intervalMs: config.otelMetricInterval, collect },
    resource: toResource(config, node, workerNumber),
    version: VERSION,
    log,
  })
}

const toTraces = ({ otelSampler, otelSamplerArg, otelPropagators }: Config) => ({
  sampler: otelSampler,
  ratio: otelSamplerArg,
  acceptsParent: otelPropagators.includes('tracecontext'),
})

/** Node and worker are ours to say, so that two processes never look like one. */
const toResource = ({ otelResource, otelServiceName }: Config, node: string, worker: number) => ({
  'service.name': 'tabbat',
  'service.version': VERSION,
  ...otelResource,
  ...(otelServiceName === undefined ? {} : { 'service.name': otelServiceName }),
  'service.instance.id': `${node}.${worker}`,
  'tabbat.node': node,
  'tabbat.worker': String(worker),
})

function readAuthority(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UserError(`${path} cannot be read (${code}). Check OTEL_EXPORTER_OTLP_CERTIFICATE.`)
  }
}

/** Labels come from closed lists (operations, modes, error codes) or are counted (keys), so the number of series is bounded. */
function createMetrics(config: Config, deps: TelemetryDeps): Metrics {
  const { sourceChain, audit, webhooks, queue, workerNumber, isDemo, certificate } = deps
  const readers = listReaders(config, deps.store)
  const maxKeys = config.metricsKeys === 'off' ? 0 : config.metricsKeys
  const requests = createRequestCounts(maxKeys, listAlerted())
  const collectProcess = createProcessMetrics()
  const readSpend = createSpendMetric(sourceChain)
  const collect = async (): Promise<ProcessFigures> => {
    const metrics = [
      ...(await collectProcess()),
      ...toSourceMetrics(sourceChain),
      ...toAuditMetrics(audit),
      ...toWebhookMetrics(webhooks),
      ...toRequestLogMetrics(deps.requests),
      ...toQueueEndMetrics(queue.signals),
    ]
    const labelled = cluster.isWorker ? withLabel(metrics, 'worker', String(workerNumber)) : metrics
    return { requests: requests.dump(), metrics: labelled }
  }
  const collectOthers = joinWorkers(collect)
  const collectNode = async (): Promise<Metric[]> => {
    const [spend, ...read] = await Promise.all([readSpend(), ...readers.map((reader) => reader())])
    return [
      toGauge('tabbat_build_info', 'The version of this program.', [toSample({ version: VERSION }, 1)]),
      toGauge('tabbat_demo', '1 if the data is that of tabbat demo: no figure is real.', isDemo ? 1 : 0),
      ...spend,
      ...read.flat(),
      ...(certificate ? [toCertificateMetric(certificate)] : []),
    ]
  }
  return {
    countRequest: requests.count,
    countKey: requests.countKey,
    collect: async () => {
      const [own, node] = await Promise.all([collect(), workerNumber === 1 ? collectNode() : []])
      return [...own.metrics, ...node, ...toRequestMetrics(own.requests)]
    },
    print: async () => {
      const [own, others, node] = await Promise.all([
        collect(),
        collectOthers(requests.dump()),
        collectNode(),
      ])
      const requestMetrics = toRequestMetrics([...own.requests, ...others.requests])
      return printMetrics([...own.metrics, ...others.metrics, ...node, ...requestMetrics])
    },
  }
}

/** The errors that the alerts of deploy/prometheus count. */
const ALERTED: readonly ErrorCode[] = [
  'not_verified',
  'source_bad_response',
  'source_unavailable',
  'source_timeout',
  'too_many_attempts',
  'queue_full',
  'audit_unavailable',
]
/** Of those, what every operation may answer. */
const ALERTED_ALWAYS: readonly ErrorCode[] = ['internal_error', 'overloaded']
/** And what is answered before the key is known. */
const ALERTED_KEYLESS: readonly ErrorCode[] = ['internal_error', 'audit_unavailable']

function listAlerted(): RequestLabels[] {
  return [...OPERATIONS, ...RESOURCE_OPERATIONS].flatMap(({ name, errors }) => {
    const success = name.startsWith('verify_') ? ['verified'] : []
    const outcomes = [...success, ...ALERTED.filter((code) => errors.includes(code)), ...ALERTED_ALWAYS]
    return [
      ...MODES.flatMap((mode) => outcomes.map((outcome): RequestLabels => [name, mode, outcome])),
      ...ALERTED_KEYLESS.map((outcome): RequestLabels => [name, 'none', outcome]),
    ]
  })
}

/** Metrics of the node, not of a process. */
const listReaders = (config: Config, store: Store) => [
  createSizeMetrics(store),
  createStoreMetrics(store, config.scrub !== 'off'),
  createQueueMetrics(store),
  createEndpointMetrics(store.webhooks),
  createDiskMetrics({ data: config.dataDir, checkpoints: config.checkpointDir ?? config.dataDir }),
]

const toRequestLogMetrics = (requests: TelemetryDeps['requests']): Metric[] =>
  requests
    ? [
        toCounter(
          'tabbat_request_log_dropped_total',
          'Requests that are missing from the request log, because the store was unavailable for too long.',
          requests.countDropped(),
        ),
      ]
    : []

const toCertificateMetric = ({ current }: Pick<TlsCertificate, 'current'>): Metric =>
  toGauge(
    'tabbat_tls_certificate_expiry_timestamp_seconds',
    'When the certificate in use, or one of its chain, ends, in Unix time.',
    current().notAfter / 1000,
  )

/**
 * Facts that the store knows, read at most once a minute. While the store is unavailable, the last ones are repeated. What was never
 * done has the time 0, so that an alert on its age works.
 */
export function createStoreMetrics(
  { keys, meta }: Pick<Store, 'keys' | 'meta'>,
  isScrubbed: boolean,
): () => Promise<Metric[]> {
  let metrics: Metric[] = []
  let readAt = Number.NEGATIVE_INFINITY
  const read = async () => {
    const facts = await meta.read()
    return [
      ...toTimestamp(
        'tabbat_api_key_next_expiry_timestamp_seconds',
        'When the next live API key expires that was not rolled, in Unix time.',
        await keys.findNextExpiry(steadyNow()),
      ),
      ...toTimestamp(
        'tabbat_database_created_timestamp_seconds',
        'When the database was made, in Unix time.',
        toTime(facts.created_at),
      ),
      ...toTimestamp(
        'tabbat_backup_timestamp_seconds',
        'When the last tabbat backup was made, in Unix time; 0 before the first.',
        toTime(facts.last_backup_at) ?? 0,
      ),
      // Damage ends the process, so only passes without damage are recorded.
      ...toTimestamp(
        'tabbat_scrub_finished_timestamp_seconds',
        'When the database was last read through without finding damage, in Unix time; 0 before the first.',
        isScrubbed ? (toTime(facts.last_scrub_at) ?? 0) : undefined,
      ),
    ]
  }
  return async () => {
    if (performance.now() - readAt > MINUTE_MS) {
      readAt = performance.now()
      metrics = await read().catch(() => metrics)
    }
    return metrics
  }
}

const toTime = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text))

/** Nothing when there is no such time. */
const toTimestamp = (name: string, help: string, at: number | undefined): Metric[] =>
  at === undefined ? [] : [toGauge(name, help, at / 1000)]

/** The disks of the data folder and of the checkpoints. The disk of PostgreSQL cannot be seen from here. */
function createDiskMetrics(folders: Readonly<Record<string, string>>): () => Promise<Metric[]> {
  return async () => {
    const disks = await Promise.all(
      Object.entries(folders).map(async ([folder, path]) => {
        const disk = await statfs(path).catch(() => undefined)
        return disk ? [{ folder, free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize }] : []
      }),
    )
    const samples = disks.flat()
    return [
      toGauge(
        'tabbat_disk_free_bytes',
        'Space that is free on the disk of a folder.',
        samples.map(({ folder, free }) => toSample({ folder }, free)),
      ),
      toGauge(
        'tabbat_disk_size_bytes',
        'Size of the disk of a folder.',
        samples.map(({ folder, size }) => toSample({ folder }, size)),
      ),
    ]
  }
}

/** Read at most once a minute. While the store is unavailable, the last figures are repeated. */
export function createSizeMetrics({
  database,
  file,
}: Pick<Store, 'database' | 'file'>): () => Promise<Metric[]> {
  let sizes: TableSizes | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - readAt > MINUTE_MS) {
      readAt = performance.now()
      sizes = await readTableSizes(database, file).catch(() => sizes)
    }
    if (!sizes) return []
    const total = toGauge(
      'tabbat_database_size_bytes',
      'Size of the database on disk, with indexes.',
      sizes.total,
    )
    if (sizes.tables.length === 0) return [total]
    const samples = sizes.tables.map(({ table, bytes }) => toSample({ table }, bytes))
    return [total, toGauge('tabbat_table_size_bytes', 'Size of a table on disk, with indexes.', samples)]
  }
}

/** The pending verifications that have ended in this process. */
const toQueueEndMetrics = ({ ended }: Pick<QueueSignals, 'ended'>): Metric[] => [
  toCounter(
    'tabbat_queue_ended_total',
    'Pending verifications and rows of batches that have ended in this process, by outcome.',
    Object.entries(ended).map(([outcome, count]) => toSample({ outcome }, count)),
  ),
]

const READ_EVERY_MS = 15_000

/** The queue of all nodes, read at most every 15 seconds. While the store is unavailable, the last figures are repeated. */
function createQueueMetrics({ queue }: { readonly queue: QueueTable }): () => Promise<Metric[]> {
  let metrics: Metric[] = []
  let readAt = Number.NEGATIVE_INFINITY
  const read = async (): Promise<Metric[]> => {
    const now = steadyNow()
    const [counts, oldestMs, lateMs] = await Promise.all([
      queue.countPending(),
      queue.findOldest(now),
      queue.findLate(now),
    ])
    const toPending = (wanted: string) =>
      counts.reduce((sum, { lane, pending }) => sum + (lane === wanted ? pending : 0), 0)
    return [
      toGauge(
        'tabbat_queue_pending',
        'Verifications that wait for an answer, by lane: single, or batch.',
        QUEUE_LANES.map((lane) => toSample({ lane }, toPending(lane))),
      ),
      toGauge(
        'tabbat_queue_oldest_seconds',
        'Age of the oldest pending verification of a live key; 0 if there is none.',
        Math.max(0, oldestMs ?? 0) / 1000,
      ),
      toGauge(
        'tabbat_queue_late_seconds',
        'How long the next pending verification has been due. It grows while no source may be called.',
        Math.max(0, lateMs ?? 0) / 1000,
      ),
    ]
  }
  return async () => {
    if (performance.now() - readAt > READ_EVERY_MS) {
      readAt = performance.now()
      metrics = await read().catch(() => metrics)
    }
    return metrics
  }
}
