import { endAfter, type Tracing } from '../telemetry/tracing.ts'
import type { Guard } from './guard.ts'

/**
 * Starts the trace of a request, and its first step. Without tracing the guard is used as it is, so that nothing is paid for.
 * Requests without a guard (health, pictures, unknown paths) are not traced.
 */
export const withTracing =
  (guard: Guard, tracing: Tracing): Guard =>
  (exchange, scope, route) => {
    const { raw, headers, operation, startedAt } = exchange
    const { traceparent } = headers as { traceparent?: string }
    const trace = tracing.start({ method: raw.method ?? '', route, operation, traceparent, startedAt })
    exchange.trace = trace
    const span = trace.startStep('guard')
    if (!span) return guard(exchange, scope, route)
    let pending: Promise<void> | undefined
    try {
      pending = guard(exchange, scope, route)
    } finally {
      if (!pending) span.end()
    }
    return pending && endAfter(span, pending)
  }
