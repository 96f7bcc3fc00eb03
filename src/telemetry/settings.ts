import type { Environment } from '../settings/read-settings.ts'
import {
  baseUrl,
  InvalidSetting,
  isLoopback,
  oneOf,
  plain,
  type Setting,
  setting,
  wholeNumber,
} from '../settings/setting.ts'

/** Texts with names: `name=value,name=value`, values percent-encoded. */
const pairs = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map(readPair),
  )

function readPair(part: string): [string, string] {
  const [, name = '', value = ''] = /^\s*([\w.!#$%&'*+^`|~/-]+)\s*=\s*(.*?)\s*$/.exec(part) ?? []
  try {
    if (name !== '' && /^[\x20-\x7e]*$/.test(value)) return [name, decodeURIComponent(value)]
  } catch {
    // Not percent-encoded.
  }
  throw new InvalidSetting(
    'must be pairs such as name=value,other=value, with special characters percent-encoded',
  )
}

/** They are sent as headers. */
const headerPairs = (text: string): Readonly<Record<string, string>> => {
  const read = pairs(text)
  if (Object.values(read).every((value) => /^[\x20-\x7e]*$/.test(value))) return read
  throw new InvalidSetting('must have values that can be sent in a header')
}

const names = (text: string): readonly string[] => text.split(',').map((name) => name.trim().toLowerCase())

function ratio(text: string): number {
  if (/^(0?\.\d+|0|1(\.0+)?)$/.test(text)) return Number(text)
  throw new InvalidSetting('must be a number from 0 to 1, such as 0.1')
}

/** The log. */
export const LOG_SETTINGS = {
  logLevel: setting(
    'TABBAT_LOG_LEVEL',
    'info',
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'Lowest level that is logged, as JSON lines.',
  ),
  logFile: setting(
    'TABBAT_LOG_FILE',
    undefined,
    plain,
    'File to which the log is appended. SIGHUP opens it again, after a rotation. Unset: standard error.',
  ),
} satisfies Record<string, Setting<unknown>>

/** OpenTelemetry. The names and meanings are those of its specification. */
export const TELEMETRY_SETTINGS = {
  otlpEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    undefined,
    baseUrl,
    'URL of an OpenTelemetry collector, for example http://127.0.0.1:4318. Traces and metrics are sent to /v1/traces and /v1/metrics below it. Unset: nothing is sent, and the libraries are not loaded.',
  ),
  otlpHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    undefined,
    headerPairs,
    'Headers for the collector, as name=value,name=value, for example an API key. They need an https address, or a collector on this machine.',
    true,
  ),
  otlpProtocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'http/protobuf',
    oneOf('http/protobuf'),
    'Protocol of the collector. Only http/protobuf is supported.',
  ),
  otlpTimeout: setting(
    'OTEL_EXPORTER_OTLP_TIMEOUT',
    '10000',
    wholeNumber(100, 60_000),
    'Longest time in milliseconds for sending one batch, retries included.',
  ),
  otlpCompression: setting(
    'OTEL_EXPORTER_OTLP_COMPRESSION',
    'none',
    oneOf('gzip', 'none'),
    'Compression of what is sent.',
  ),
  otlpCertificate: setting(
    'OTEL_EXPORTER_OTLP_CERTIFICATE',
    undefined,
    plain,
    'File with the certificates that the collector is checked against, in PEM format. Unset: those of Node.js.',
  ),
  otelTraces: setting('OTEL_TRACES_EXPORTER', 'otlp', oneOf('otlp', 'none'), 'Whether traces are sent.'),
  otelMetrics: setting(
    'OTEL_METRICS_EXPORTER',
    'otlp',
    oneOf('otlp', 'none'),
    'Whether metrics are sent. none is for those who scrape /metrics.',
  ),
  otelSampler: setting(
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    oneOf(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
    'Which requests are traced. With parentbased_, the decision in the traceparent of the caller holds; the others decide here alone.',
  ),
  otelSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    ratio,
    'Part of the traces that traceidratio and parentbased_traceidratio record, from 0 to 1.',
  ),
  otelPropagators: setting(
    'OTEL_PROPAGATORS',
    'tracecontext',
    names,
    'List of headers that carry traces. If it contains tracecontext, the traceparent of callers is accepted; else every request begins its own trace. Others have no effect: tracestate and baggage are never read.',
  ),
  otelMetricInterval: setting(
    'OTEL_METRIC_EXPORT_INTERVAL',
    '60000',
    wholeNumber(1000, 3_600_000),
    'Time in milliseconds between two exports of the metrics.',
  ),
  otelServiceName: setting(
    'OTEL_SERVICE_NAME',
    undefined,
    plain,
    'Name of this service in the telemetry. Unset: service.name in OTEL_RESOURCE_ATTRIBUTES, or else tabbat.',
  ),
  otelResource: setting(
    'OTEL_RESOURCE_ATTRIBUTES',
    undefined,
    pairs,
    'More attributes of this service, as name=value,name=value, for example deployment.environment.name=production. They must not contain personal data.',
  ),
  otelDisabled: setting(
    'OTEL_SDK_DISABLED',
    'false',
    oneOf('true', 'false'),
    'Whether OpenTelemetry is off even if OTEL_EXPORTER_OTLP_ENDPOINT is set.',
  ),
} satisfies Record<string, Setting<unknown>>

/** Headers of all signals, or of one, which the libraries read from the environment themselves. */
const HEADERS = /^OTEL_EXPORTER_OTLP_(\w+_)?HEADERS(_FILE)?$/

type Values = { readonly otlpEndpoint: string | undefined; readonly otelDisabled: 'true' | 'false' }

/** Headers hold API keys, which others on the network could read, as with vendors. */
export function listTelemetryProblems(given: Environment, { otlpEndpoint, otelDisabled }: Values): string[] {
  const headers = Object.keys(given).find((name) => HEADERS.test(name))
  if (headers === undefined || otlpEndpoint === undefined || otelDisabled === 'true') return []
  const { protocol, hostname } = new URL(otlpEndpoint)
  if (protocol === 'https:' || isLoopback(hostname)) return []
  return [
    `OTEL_EXPORTER_OTLP_ENDPOINT must begin with https://, because ${headers} may hold a secret. Or send to a collector on this machine, or remove the headers`,
  ]
}
