import { type HrTime, ValueType } from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, hrTime } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  type MetricProducer,
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
import type { Log } from './log.ts'
import type { Metric, Sample } from './metric.ts'
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

/** A collector that comes and goes gets one warning in this time. */
const WARN_EVERY_MS = 600_000

/** Writes one warning when the collector cannot be reached, however long that lasts, and one line when it can again. */
export function createExportReport(
  log: Pick<Log, 'event'>,
  signal: 'traces' | 'metrics',
  now: () => number = () => performance.now(),
): (result: ExportResult) => void {
  let isFailing = false
  let isReported = false
  let lastWarningAt = Number.NEGATIVE_INFINITY
  return ({ code, error }) => {
    const hasFailed = code !== ExportResultCode.SUCCESS
    if (hasFailed && !isFailing && now() - lastWarningAt >= WARN_EVERY_MS) {
      lastWarningAt = now()
      isReported = true
      log.event('warn', 'otlp_export_failed', { signal, reason: toReason(error) })
    }
    if (!hasFailed && isReported) {
      isReported = false
      log.event('info', 'otlp_export_resumed', { signal })
    }
    isFailing = hasFailed
  }
}

/** The code of the error or the HTTP status. Messages are left out: they may quote the reply. */
function toReason(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code === 'number') return `http_${code}`
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'unavailable'
}

/** The metrics that Prometheus can scrape, under the same names. Requests are not counted twice: this only converts. */
function createMetricProducer(
  resource: Resource,
  version: string,
  collect: () => Promise<readonly Metric[]>,
): MetricProducer {
  const startTime = hrTime()
  return {
    collect: async () => {
      const found = await collect()
      const endTime = hrTime()
      const metrics = [...Map.groupBy(found, ({ name }) => name).values()].flatMap((group) =>
        toMetricData(group, startTime, endTime),
      )
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'tabbat', version }, metrics }] },
        errors: [],
      }
    },
  }
}

function toMetricData(group: readonly Metric[], startTime: HrTime, endTime: HrTime): MetricData[] {
  const [metric] = group
  const samples = group.flatMap((part) => part.samples)
  if (!metric || samples.length === 0) return []
  const { name, help: description, type } = metric
  const shared = {
    descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const toPoint = ({ labels, value }: Sample): DataPoint<number> => ({
    startTime,
    endTime,
    attributes: readLabels(labels),
    value,
  })
  if (type === 'histogram') {
    const dataPoints = toHistograms(samples).map((point) => ({ ...point, startTime, endTime }))
    return [{ ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints }]
  }
  const dataPoints = samples.map(toPoint)
  if (type === 'gauge') return [{ ...shared, dataPointType: DataPointType.GAUGE, dataPoints }]
  return [{ ...shared, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }]
}

/** Prometheus counts what is below a bound; OpenTelemetry counts what is between two. */
function toHistograms(
  samples: readonly Sample[],
): { attributes: Record<string, string>; value: Histogram }[] {
  const parts = samples.map((sample) => {
    const { le, ...attributes } = readLabels(sample.labels)
    return { ...sample, le, attributes }
  })
  const bySeries = Map.groupBy(parts, ({ attributes }) => JSON.stringify(attributes))
  return [...bySeries.values()].map((series) => {
    const below = series.filter(({ suffix }) => suffix === '_bucket').map(({ value }) => value)
    const boundaries = series.flatMap(({ le }) => (le === undefined || le === '+Inf' ? [] : [Number(le)]))
    const read = (wanted: string) => series.find(({ suffix }) => suffix === wanted)?.value ?? 0
    const counts = below.map((count, index) => count - (below[index - 1] ?? 0))
    return {
      attributes: series[0]?.attributes ?? {},
      value: { buckets: { boundaries, counts }, sum: read('_sum'), count: read('_count') },
    }
  })
}

/** The labels as they are printed for Prometheus: `name="value",…`. */
const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_found, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]),
  )
