import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import { type IdGenerator, RandomIdGenerator, type Sampler, SamplingDecision } from '@opentelemetry/sdk-trace'
import type { AttemptSpan, RequestTrace, Step, StepSpan, Tracing } from './tracing.ts'

type TracingOptions = {
  readonly sampler: Sampler
  readonly acceptsParent: boolean
  /** The tracer records every span, with the trace ids that this generator gives. */
  readonly createTracer: (idGenerator: IdGenerator) => Tracer
}

/**
 * Traces by the tracer of OpenTelemetry. This file alone names spans and sets their attributes. The sampler is asked here and
 * not by the tracer: a request that is not sampled costs a random id, and no span.
 */
export function createTracing({ sampler, acceptsParent, createTracer }: TracingOptions): Tracing {
  const ids = new RandomIdGenerator()
  let traceId = ''
  const tracer = createTracer({ generateTraceId: () => traceId, generateSpanId: () => ids.generateSpanId() })
  return {
    start: ({ method, route, operation, traceparent, startedAt }) => {
      const context = acceptsParent && traceparent !== undefined ? toParent(traceparent) : ROOT_CONTEXT
      traceId = trace.getSpanContext(context)?.traceId ?? ids.generateTraceId()
      const { decision } = sampler.shouldSample(context, traceId, route, SpanKind.SERVER, NONE, NO_LINKS)
      if (decision !== SamplingDecision.RECORD_AND_SAMPLED) return new UnsampledTrace(traceId, ids)
      const offsetMs = Date.now() - performance.now()
      const attributes = {
        'http.request.method': method,
        'http.route': route,
        'tabbat.operation': operation,
      }
      const options = { kind: SpanKind.SERVER, startTime: offsetMs + startedAt, attributes }
      const span = tracer.startSpan(`${method} ${route}`, options, context)
      return new SampledTrace(tracer, span, offsetMs)
    },
  }
}

const NONE = {}
const NO_LINKS: [] = []

/**
 * The context of the caller's span. `tracestate` and `baggage` are not read: they may contain anything. Nor are ids accepted
 * that are no random ones, because a caller might write a number of a person there: a trace id has two letters at least, and
 * a span id one.
 */
function toParent(traceparent: string): Context {
  const parent = parseTraceParent(traceparent)
  if (!parent || !/[a-f].*[a-f]/.test(parent.traceId) || !/[a-f]/.test(parent.spanId)) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true })
}

function toTraceparent({ traceId, spanId }: SpanContext): string {
  return `00-${traceId}-${spanId}-01`
}

/** Nothing is recorded; the ids go to the log and to sources that accept them. */
class UnsampledTrace implements RequestTrace {
  readonly traceId: string
  readonly #ids: IdGenerator

  constructor(traceId: string, ids: IdGenerator) {
    this.traceId = traceId
    this.#ids = ids
  }

  startStep(): undefined {}

  startAttempt(): AttemptSpan {
    return { traceparent: `00-${this.traceId}-${this.#ids.generateSpanId()}-00`, end: () => {} }
  }

  end(): void {}
}

const ANSWERS = new Set(['found', 'not_found', 'watchlisted', 'names_differ'])

class SampledTrace implements RequestTrace {
  readonly traceId: string
  readonly #tracer: Tracer
  readonly #span: Span
  readonly #context: Context
  /** All spans of a trace share one offset to the wall clock, so that a step cannot begin before its request. */
  readonly #offsetMs: number

  constructor(tracer: Tracer, span: Span, offsetMs: number) {
    this.traceId = span.spanContext().traceId
    this.#tracer = tracer
    this.#span = span
    this.#context = trace.setSpan(ROOT_CONTEXT, span)
    this.#offsetMs = offsetMs
  }

  startStep(step: Step): StepSpan {
    const span = this.#tracer.startSpan(step, { startTime: this.#now() }, this.#context)
    return {
      end: (isFailed = false) => {
        if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end(this.#now())
      },
    }
  }

  startAttempt(source: string, isExternal: boolean, startedAt = performance.now()): AttemptSpan {
    const options = {
      kind: isExternal ? SpanKind.CLIENT : SpanKind.INTERNAL,
      startTime: this.#offsetMs + startedAt,
      attributes: { 'tabbat.source': source },
    }
    const span = this.#tracer.startSpan(`source ${source}`, options, this.#context)
    return {
      traceparent: toTraceparent(span.spanContext()),
      end: (result) => {
        span.setAttribute('tabbat.source.result', result)
        if (!ANSWERS.has(result)) fail(span, result)
        span.end(this.#now())
      },
    }
  }

  /** A status of 0: the caller has closed the connection. */
  end({ mode, outcome, status }: { mode: string; outcome: string; status: number }): void {
    this.#span.setAttributes({ 'tabbat.mode': mode, 'tabbat.outcome': outcome })
    if (status !== 0) this.#span.setAttribute('http.response.status_code', status)
    if (status === 0 || status >= 500) fail(this.#span, outcome)
    this.#span.end(this.#now())
  }

  #now(): number {
    return this.#offsetMs + performance.now()
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
