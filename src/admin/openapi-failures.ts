import { ADMIN_ERRORS, type AdminErrorCode } from '../contract/admin-error.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import { type AdminRoute, refusesTokens } from './route.ts'

/** One response per status; its description lists the codes. */
export function toFailures(route: AdminRoute): Record<string, unknown> {
  const { role, method, input, stream, isSearch, isSensitive, isSensitiveIfLive } = route
  const adminCodes: AdminErrorCode[] = [
    ...(role === 'anyone'
      ? (['wrong_password', 'invitation_void', 'too_many_tries'] as const)
      : (['signed_out', 'token_refused', 'address_refused', 'too_many_tries'] as const)),
    ...(role !== 'anyone' && (refusesTokens(route) || isSensitiveIfLive)
      ? (['session_required'] as const)
      : []),
    ...(role === 'anyone' || role === 'viewer' ? [] : (['wrong_role'] as const)),
    ...(isSensitive || isSensitiveIfLive ? (['confirm_first'] as const) : []),
    ...(method === 'POST' ? (['foreign_origin', 'refused'] as const) : []),
    ...(stream === undefined ? [] : (['too_many_streams'] as const)),
    ...(isSearch ? (['too_many_searches'] as const) : []),
    'unknown_host',
  ]
  const codes: ErrorCode[] = [
    ...(method === 'POST' ? (['malformed_json', 'unsupported_media_type'] as const) : []),
    ...(input ? (['validation_failed'] as const) : []),
    'internal_error',
    'audit_unavailable',
  ]
  const entries = [
    ...adminCodes.map((code) => ({ code, ...ADMIN_ERRORS[code] })),
    ...codes.map((code) => ({ code, status: ERRORS[code].status, message: ERRORS[code].message })),
  ]
  return Object.fromEntries(
    Object.entries(Object.groupBy(entries, ({ status }) => status)).map(([status, list = []]) => [
      status,
      {
        description: list
          .map(({ code, message }) => `\`${code}\`: ${message || 'the message gives the reason.'}`)
          .join(' '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}
