import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

type Value = { readonly stringValue?: string; readonly intValue?: unknown; readonly doubleValue?: number }
type Attribute = { readonly key: string; readonly value: Value }
type RawSpan = {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly parentSpanId: Uint8Array | null
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: unknown
  readonly endTimeUnixNano: unknown
  readonly attributes: readonly Attribute[]
  readonly status?: { readonly code: number }
}
type RawPoint = {
  readonly attributes: readonly Attribute[]
  readonly asDouble?: number
  readonly sum?: number
  readonly count?: unknown
  readonly explicitBounds?: readonly number[]
  readonly bucketCounts?: readonly unknown[]
}
type RawMetric = {
  readonly name: string
  readonly gauge?: { readonly dataPoints: readonly RawPoint[] }
  readonly sum?: { readonly dataPoints: readonly RawPoint[]; readonly isMonotonic: boolean }
  readonly histogram?: { readonly dataPoints: readonly RawPoint[] }
}
type Resource = { readonly attributes: readonly Attribute[] }
type Decoder<T> = { readonly decode: (bytes: Uint8Array) => T }

/** The message types that the OpenTelemetry project generates from its protobuf definitions. */
const { opentelemetry } = createRequire(import.meta.url)('otlp-definitions/build/src/generated/root.js')
const services = opentelemetry.proto.collector
const TraceRequest = services.trace.v1.ExportTraceServiceRequest as Decoder<{
  resourceSpans: { resource: Resource; scopeSpans: { spans: RawSpan[] }[] }[]
}>
const MetricsRequest = services.metrics.v1.ExportMetricsServiceRequest as Decoder<{
  resourceMetrics: { resource: Resource; scopeMetrics: { metrics: RawMetric[] }[] }[]
}>

export type Span = {
  readonly trace: string
  readonly id: string
  readonly parent: string
  readonly name: string
  readonly kind: number
  readonly attributes: Record<string, unknown>
  readonly isFailed: boolean
  readonly startedAt: bigint
  readonly endedAt: bigint
  readonly resource: Record<string, unknown>
}

export type Collector = {
  readonly url: string
  readonly spans: () => Span[]
  readonly metrics: () => { readonly metric: RawMetric; readonly resource: Record<string, unknown> }[]
  /** Every byte that arrived: bodies without compression, and the headers as text. */
  readonly bytes: () => Buffer
  /** What it answers from now on: a status, or nothing. */
  readonly answerWith: (status: number | 'nothing') => void
  /** Requests that have arrived. */
  readonly count: () => number
  readonly close: () => Promise<void>
}

/** An OTLP/HTTP receiver on a real socket. */
export async function openCollector(): Promise<Collector> {
  const received: { readonly path: string; readonly body: Buffer; readonly head: string }[] = []
  let reply: number | 'nothing' = 200
  let count = 0
  const answer = (response: ServerResponse) => {
    if (reply !== 'nothing') response.writeHead(reply, { 'content-type': 'application/x-protobuf' }).end()
  }
  const server = createServer(async (request, response) => {
    const sent = await buffer(request)
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    count += 1
    const isOurs = request.method === 'POST' && request.headers['content-type'] === 'application/x-protobuf'
    if (reply === 200 && isOurs)
      received.push({ path: request.url ?? '', body, head: request.rawHeaders.join('\n') })
    answer(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bodiesOf = (path: string) => received.filter((one) => one.path === path).map(({ body }) => body)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodiesOf('/v1/traces').flatMap(readSpans),
    metrics: () => bodiesOf('/v1/metrics').flatMap(readMetrics),
    bytes: () => Buffer.concat(received.flatMap(({ body, head, path }) => [body, Buffer.from(head + path)])),
    answerWith: (wanted) => {
      reply = wanted
    },
    count: () => count,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const hex = (bytes: Uint8Array | null) => Buffer.from(bytes ?? []).toString('hex')

const readSpans = (body: Buffer): Span[] =>
  TraceRequest.decode(body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        trace: hex(span.traceId),
        id: hex(span.spanId),
        parent: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        attributes: toRecord(span.attributes),
        isFailed: span.status?.code === 2,
        startedAt: BigInt(String(span.startTimeUnixNano)),
        endedAt: BigInt(String(span.endTimeUnixNano)),
        resource: toRecord(resource.attributes),
      })),
  )

const readMetrics = (body: Buffer) =>
  MetricsRequest.decode(body).resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .map((metric) => ({ metric, resource: toRecord(resource.attributes) })),
  )

export const toRecord = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.doubleValue ?? Number(String(value.intValue)),
    ]),
  )
