/** Starts the traces of requests. Types only: the libraries are loaded if OTEL_EXPORTER_OTLP_ENDPOINT is set. */
export type Tracing = { readonly start: (request: TracedRequest) => RequestTrace }

type TracedRequest = {
  readonly method: string
  /** The path as it is declared, with the names of its parameters. */
  readonly route: string
  readonly operation: string
  /** The header of the caller. */
  readonly traceparent: string | undefined
  /** On the monotonic clock. */
  readonly startedAt: number
}

/**
 * The trace of one request. All that it takes comes from closed lists (operations, modes, outcomes, sources, results), so
 * that no span contains personal data.
 */
export type RequestTrace = {
  readonly traceId: string
  /** Undefined if the request is not sampled. */
  readonly startStep: (step: Step) => StepSpan | undefined
  /** `startedAt` is on the monotonic clock; now if it is absent. */
  readonly startAttempt: (source: string, isExternal: boolean, startedAt?: number) => AttemptSpan
  readonly end: (result: { mode: string; outcome: string; status: number }) => void
}

export type Step = 'guard' | 'idempotency' | 'look_up' | 'commit_intent' | 'commit_payment' | 'commit'

export type StepSpan = { readonly end: (isFailed?: boolean) => void }

/** One source that is asked or skipped. */
export type AttemptSpan = {
  /** For the header of a call to a source that accepts it. */
  readonly traceparent: string
  readonly end: (result: string) => void
}

/** Ends the span with the work. The span is the first argument, so that it starts before the work. */
export function endAfter<T>(span: StepSpan | undefined, work: Promise<T>): Promise<T> {
  if (!span) return work
  work.then(
    () => span.end(),
    () => span.end(true),
  )
  return work
}
