import { type Span, type SpanOptions, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace'
import type { Tracing } from '../../src/telemetry/tracing.ts'
import { product } from './product.ts'

/** A parent that every request is given: without one the product would draw an id, and the run would be another one. */
const TRACE = { traceId: 'abcdef00000000000000000000000001', spanId: 'abcdef0000000001', traceFlags: 1 }
const PARENT = `00-${TRACE.traceId}-${TRACE.spanId}-01`

/** Traces of all requests as the product makes them. What they would tell a collector is added to `said`. */
export function openTracing(said: Set<string>): Tracing {
  const tracing = product().createTracing({
    sampler: { shouldSample: () => ({ decision: SamplingDecision.RECORD_AND_SAMPLED }) },
    acceptsParent: true,
    createTracer: () => createTracer(said),
  })
  return { start: (request) => tracing.start({ ...request, traceparent: PARENT }) }
}

function createTracer(said: Set<string>): Tracer {
  const add = (what: object) => void said.add(JSON.stringify(what))
  const startSpan = (name: string, { attributes = {} }: SpanOptions = {}) => {
    add({ name, ...attributes })
    const span: Pick<Span, 'spanContext' | 'setAttribute' | 'setAttributes' | 'setStatus' | 'end'> = {
      spanContext: () => TRACE,
      setAttribute: (key, value) => {
        add({ [key]: value })
        return span as Span
      },
      setAttributes: (given) => {
        add(given)
        return span as Span
      },
      setStatus: ({ code, message }) => {
        add({ status: SpanStatusCode[code], message })
        return span as Span
      },
      end: () => {},
    }
    return span as Span
  }
  return { startSpan, startActiveSpan: () => {} } as unknown as Tracer
}
