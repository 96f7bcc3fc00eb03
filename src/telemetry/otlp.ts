import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { createExportReport } from './export-report.ts'
import type { Log } from './log.ts'
import type { Metric } from './metric.ts'
import { createMetricProducer } from './otlp-metrics.ts'
import { createTracing } from './otlp-tracing.ts'
import type { Tracing } from './tracing.ts'

type OtlpOptions = {
  /** Without a slash at the end. `/v1/traces` and `/v1/metrics` are appended. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: 'gzip' | 'none'
  /** Certificates that are trusted instead of those of Node.js, in PEM format. */
  readonly authority: string | undefined
  /** Undefined: no traces. */
  readonly traces:
    | { readonly sampler: SamplerName; readonly ratio: number; readonly acceptsParent: boolean }
    | undefined
  /** Undefined: no metrics. */
  readonly metrics:
    | { readonly intervalMs: number; readonly collect: () => Promise<readonly Metric[]> }
    | undefined
  /** What the telemetry is about. Nothing is added to them: no host name, no command line. */
  readonly resource: Readonly<Record<string, string>>
  readonly version: string
  readonly log: Pick<Log, 'event'>
}

export type Otlp = {
  readonly tracing: Tracing | undefined
  /** Sends what is left, for at most two seconds. */
  readonly close: () => Promise<void>
}

/** Bounds the memory while the collector does not answer: further spans are dropped. */
const QUEUE = { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMillis: 5000 }
/** At shutdown all batches of the queue are sent at once, beside one under way. */
const CONCURRENT_EXPORTS = 8
const CLOSE_MS = 2000

/** Sends traces and metrics to a collector, over OTLP/HTTP with protobuf. */
export function openOtlp(options: OtlpOptions): Otlp {
  const resource = resourceFromAttributes({ ...options.resource })
  const traces = options.traces && openTraces(options, options.traces, resource)
  const meterProvider = options.metrics && openMetrics(options, options.metrics, resource)
  return {
    tracing: traces?.tracing,
    close: async () => {
      const { promise: isLate, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, CLOSE_MS)
      const closing = [traces?.close(), meterProvider?.shutdown()]
      // A failure was reported by the exporter.
      await Promise.race([Promise.allSettled(closing), isLate])
      clearTimeout(timer)
    },
  }
}

type ExporterOptions = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>

const toExporterOptions = (
  { endpoint, headers, timeoutMs, compression, authority }: OtlpOptions,
  path: string,
): ExporterOptions => ({
  url: `${endpoint}${path}`,
  headers: { ...headers },
  timeoutMillis: timeoutMs,
  compression: compression as NonNullable<ExporterOptions['compression']>,
  concurrencyLimit: CONCURRENT_EXPORTS,
  // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
  httpAgentOptions: {
    keepAlive: true,
    rejectUnauthorized: true,
    ...(authority === undefined ? {} : { ca: authority }),
  },
})

function openTraces(
  options: OtlpOptions,
  { sampler, ratio, acceptsParent }: NonNullable<OtlpOptions['traces']>,
  resource: Resource,
) {
  const inner = new OTLPTraceExporter(toExporterOptions(options, '/v1/traces'))
  const report = createExportReport(options.log, 'traces')
  const exporter: SpanExporter = {
    export: (spans, done) =>
      inner.export(spans, (result) => {
        report(result)
        done(result)
      }),
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
  const processor = new BatchSpanProcessor({ exporter, ...QUEUE })
  const tracing = createTracing({
    sampler: createSampler(sampler, ratio),
    acceptsParent,
    createTracer: (idGenerator) =>
      new TracerProvider({
        resource,
        sampler: new AlwaysOnSampler(),
        idGenerator,
        spanProcessors: [processor],
      }).getTracer('tabbat', options.version),
  })
  return { tracing, close: () => processor.shutdown() }
}

function openMetrics(
  options: OtlpOptions,
  { intervalMs, collect }: NonNullable<OtlpOptions['metrics']>,
  resource: Resource,
): MeterProvider {
  const inner = new OTLPMetricExporter(toExporterOptions(options, '/v1/metrics'))
  const report = createExportReport(options.log, 'metrics')
  const exporter: PushMetricExporter = {
    export: (metrics, done) =>
      inner.export(metrics, (result) => {
        report(result)
        done(result)
      }),
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: intervalMs,
    metricProducers: [createMetricProducer(resource, options.version, collect)],
  })
  return new MeterProvider({ resource, readers: [reader] })
}

/** The values of OTEL_TRACES_SAMPLER. */
type SamplerName = `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`

/** Decides which traces are recorded. With `parentbased_`, the decision of the caller holds if there is one. */
function createSampler(name: SamplerName, ratio: number): Sampler {
  const root = createRootSampler(name.replace('parentbased_', ''), ratio)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

function createRootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'always_on' ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(ratio)
}
