import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'
import { EXAMPLE_REQUEST_ID, headerRefs } from './openapi-headers.ts'

type Json = Record<string, unknown>

/** Errors of every operation. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'internal_error',
  'overloaded',
]

export const EXAMPLE_REFERENCE = 'ver_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k'

export const toPath = ({ path }: { readonly path: string }) => path.replace(/:([a-z]+)/g, '{$1}')
export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** One response per status; errors with the same status are its examples. */
export function toFailures({ errors }: { readonly errors: readonly ErrorCode[] }): Json {
  const byStatus = Object.groupBy([...COMMON_ERRORS, ...errors], (code) => ERRORS[code].status)
  const reference =
    errors.includes('pending') || errors.includes('already_begun') ? EXAMPLE_REFERENCE : undefined
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes = []]) => [
      status,
      toFailure(Number(status), codes, reference),
    ]),
  )
}

const PENDING = ['Location', 'Retry-After', 'Preference-Applied']

/** `reference` is set if the operation is about a verification. */
function toFailure(status: number, codes: readonly ErrorCode[], reference: string | undefined): Json {
  const retry = codes.some((code) => 'retryAfterS' in ERRORS[code])
  return {
    description: codes.map((code) => ERRORS[code].message).join(' '),
    headers: headerRefs(
      'X-Request-Id',
      ...(retry ? ['Retry-After'] : []),
      ...(status === 202 ? PENDING : []),
    ),
    content: {
      'application/json': {
        schema: schemaRef(status === 401 ? 'Unauthenticated' : 'Error'),
        examples: Object.fromEntries(codes.map((code) => [code, { value: toExampleError(code, reference) }])),
      },
    },
  }
}

const STATUS_TEXTS: Partial<Record<ErrorCode, string>> = {
  not_verified: 'NOT_VERIFIED',
  pending: 'PENDING',
  expired: 'EXPIRED',
}

function toExampleError(code: ErrorCode, reference: string | undefined): Json {
  const error = new AppError(code, {
    ...(code === 'validation_failed' && { errors: { phone: ['phone is required'] } }),
    ...(STATUS_TEXTS[code] && {
      data: { request_reference: EXAMPLE_REFERENCE, verification_status: STATUS_TEXTS[code] },
    }),
  })
  return toErrorBody(error, EXAMPLE_REQUEST_ID, reference)
}
