import { ADMIN_ERRORS, AdminError } from '../contract/admin-error.ts'
import { AppError, UserError } from '../errors.ts'
import { type Exchange, type Reply, toJsonReply } from '../http/exchange.ts'

/** The answer to what was thrown; what is not ours is left to the server's own way. */
export const createAdminFail =
  (fail: (exchange: Exchange, thrown: unknown) => Reply) =>
  (exchange: Exchange, thrown: unknown): Reply => {
    const refusal = toAdminError(thrown)
    if (!refusal) return fail(exchange, thrown)
    exchange.outcome = refusal.code
    const { code, message, headers } = refusal
    const body = { success: false, code, message, retryable: false, request_id: exchange.id }
    return toJsonReply(body, ADMIN_ERRORS[code].status, [...headers, 'cache-control', 'no-store'])
  }

/** The functions that the command line uses refuse with a sentence; it is good enough for the page. */
function toAdminError(thrown: unknown): AdminError | undefined {
  if (thrown instanceof AdminError) return thrown
  if (thrown instanceof UserError) return new AdminError('refused', { message: thrown.message })
  if (!(thrown instanceof AppError)) return undefined
  if (thrown.code === 'unauthenticated') return new AdminError('signed_out')
  // The rest of the body is not read, so the connection cannot be used again.
  if (thrown.code === 'body_too_large')
    return new AdminError('body_too_large', { headers: ['connection', 'close'] })
  return undefined
}
