import { readFileSync } from 'node:fs'
import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { UserError } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metric.ts'
import type { Otlp } from '../telemetry/otlp.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createQueueMetrics } from '../verification/queue/queue-metrics.ts'
import { VERSION } from '../version.ts'
import { createEndpointMetrics } from '../webhooks/webhook-metrics.ts'
import { createMetrics, type MetricsOptions } from './metrics.ts'
import { createDiskMetrics, createSizeMetrics, createStoreMetrics } from './store-metrics.ts'

type TelemetryDeps = Omit<MetricsOptions, 'readers' | 'mostKeys'> & {
  readonly store: Store
  readonly log: Log
  readonly node: string
}

/** The metrics, and what is sent to a collector. */
type Telemetry = {
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  /** To be started first and awaited last: a collector that does not answer must not delay the audit log. */
  readonly close: () => Promise<void>
}

export async function openTelemetry(config: Config, deps: TelemetryDeps): Promise<Telemetry> {
  const mostKeys = config.metricsKeys === 'off' ? 0 : config.metricsKeys
  const metrics = createMetrics({ ...deps, mostKeys, readers: listReaders(config, deps.store) })
  const otlp = await openExport(config, deps, metrics)
  return { metrics, tracing: otlp?.tracing, close: async () => otlp?.close() }
}

const listReaders = (config: Config, store: Store) => [
  createSizeMetrics(store),
  createStoreMetrics(store, config.scrub !== 'off'),
  createQueueMetrics(store),
  createEndpointMetrics(store.webhooks),
  createDiskMetrics({ data: config.dataDir, checkpoints: config.checkpointDir ?? config.dataDir }),
]

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
