import { ADMIN_ERRORS, AdminError } from '../contract/admin-error.ts'
import { AppError, UserError } from '../errors.ts'
import { type Exchange, type Reply, toJsonReply } from '../http/exchange.ts'

/** Turns errors of the admin API into responses. All others go to the error handler of the public API. */
export const createToAdminErrorReply =
  (fail: (exchange: Exchange, thrown: unknown) => Reply) =>
  (exchange: Exchange, thrown: unknown): Reply => {
    const error = toAdminError(thrown)
    if (!error) return fail(exchange, thrown)
    exchange.outcome = error.code
    const { code, message, headers } = error
    const body = { success: false, code, message, retryable: false, request_id: exchange.id }
    return toJsonReply(body, ADMIN_ERRORS[code].status, [...headers, 'cache-control', 'no-store'])
  }

/** The message of a `UserError` is written for users, so the page shows it. */
function toAdminError(thrown: unknown): AdminError | undefined {
  if (thrown instanceof AdminError) return thrown
  if (thrown instanceof UserError) return new AdminError('refused', { message: thrown.message })
  if (!(thrown instanceof AppError)) return undefined
  if (thrown.code === 'unauthenticated') return new AdminError('signed_out')
  // The rest of the body is not read, so the connection cannot be reused.
  if (thrown.code === 'body_too_large')
    return new AdminError('body_too_large', { headers: ['connection', 'close'] })
  return undefined
}
