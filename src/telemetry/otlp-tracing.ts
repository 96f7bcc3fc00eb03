import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import type { AttemptSpan, RequestTrace, Step, StepSpan, Tracing } from './tracing.ts'

/** Traces by the tracer of OpenTelemetry. This file alone names spans and sets their attributes. */
export const createTracing = (tracer: Tracer, acceptsParent: boolean): Tracing => ({
  start: ({ method, route, operation, traceparent, startedAt }) => {
    const offsetMs = Date.now() - performance.now()
    const parent = acceptsParent && traceparent !== undefined ? toParent(traceparent) : ROOT_CONTEXT
    const options = { kind: SpanKind.SERVER, startTime: offsetMs + startedAt }
    const span = tracer.startSpan(`${method} ${route}`, options, parent)
    if (!span.isRecording()) return new UnsampledTrace(span)
    span.setAttributes({
      'http.request.method': method,
      'http.route': route,
      'tabbat.operation': operation,
    })
    return new SampledTrace(tracer, span, offsetMs)
  },
})

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

function toTraceparent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`
}

/** Nothing is recorded; the ids go to the log and to sources that accept them. */
class UnsampledTrace implements RequestTrace {
  readonly traceId: string
  readonly #span: Span

  constructor(span: Span) {
    this.#span = span
    this.traceId = span.spanContext().traceId
  }

  startStep(): undefined {}

  startAttempt(): AttemptSpan {
    return { traceparent: toTraceparent(this.#span), end: () => {} }
  }

  end(): void {}
}

const ANSWERS = new Set(['found', 'not_found', 'watchlisted'])

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
      traceparent: toTraceparent(span),
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
