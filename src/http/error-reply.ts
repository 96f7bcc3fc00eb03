import { isStoreFailure } from '../database/failure.ts'
import { AppError, ERRORS, toErrorBody } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import { type Exchange, type Reply, toJsonReply } from './exchange.ts'

/** The only place where an error becomes a response. A damaged or lost store is reported wherever it is met. */
export function createToErrorReply(log: Log, onStoreFailure: (error: unknown) => void) {
  return (exchange: Exchange, thrown: unknown): Reply => {
    const error = toAppError(thrown)
    exchange.outcome = error.code
    if (error.code === 'internal_error' || isStoreFailure(thrown))
      log.failure(thrown, exchange.id, exchange.trace?.traceId)
    if (isStoreFailure(thrown)) onStoreFailure(thrown)
    const headers = Object.entries(error.headers).flat()
    if (error.errors) exchange.wrongFields = Object.keys(error.errors)
    exchange.reference = error.reference ?? exchange.reference
    return toJsonReply(toErrorBody(error, exchange.id, exchange.reference), ERRORS[error.code].status, [
      ...headers,
      'cache-control',
      'no-store',
    ])
  }
}

function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  if (isStoreFailure(thrown)) return new AppError('audit_unavailable', { cause: thrown })
  return new AppError('internal_error', { cause: thrown })
}
