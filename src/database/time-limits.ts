/** The limits of one operation of a server on PostgreSQL. */
type TimeLimits = {
  readonly answerTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly operationTimeoutMs: number
}

const TIMEOUT_MS = 5000

/**
 * What a caller may wait for besides the operation: a lease of the rate limit before it, the search for a commit whose reply was
 * lost after it, and the response.
 */
const RESERVED_MS = 1750
/** With a short timeout, the operation has the larger part of it. */
const LEAST_PART = 0.65

/** Of one operation: http/store-budget.ts limits all waits of a request together to `timeoutMs`. PostgreSQL ends a statement before we stop waiting for it. */
export function toTimeLimits(timeoutMs = TIMEOUT_MS): TimeLimits {
  const operationTimeoutMs = Math.round(Math.max(timeoutMs * LEAST_PART, timeoutMs - RESERVED_MS))
  return {
    operationTimeoutMs,
    answerTimeoutMs: Math.round(operationTimeoutMs * 0.95),
    statementTimeoutMs: Math.round(operationTimeoutMs * 0.85),
  }
}
