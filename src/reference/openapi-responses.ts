import { AppError, ERRORS, type ErrorCode, toErrorBody } from '../errors.ts'

const EXAMPLE_REQUEST_ID = 'req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62'

const header = (description: string, example: string) => ({
  description,
  schema: { type: 'string' },
  example,
})

/** Headers of responses. */
export const HEADERS = {
  'X-Request-Id': header(
    'Id of this request: your own if it has 8 to 64 letters, digits, dots, hyphens and underscores.',
    EXAMPLE_REQUEST_ID,
  ),
  RateLimit: header(
    'Requests left (`r`), and seconds until the limit starts again (`t`).',
    '"key";r=2999;t=60',
  ),
  'RateLimit-Policy': header('The limit of this key: requests (`q`) per seconds (`w`).', '"key";q=3000;w=60'),
  'Tabbat-Match': header(
    'How the details in the request compare with the record: `exact`, `partial` or `no`. Only details that were given, that the record has and that this key may see. Absent if there are none.',
    'first_name=exact, last_name=partial, date_of_birth=no',
  ),
  'Retry-After': header('Seconds to wait before trying again.', '30'),
  Location: header(
    'Where the answer will be.',
    '/api/v2/kyc/verifications/ver_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k',
  ),
  'Preference-Applied': header('The preference of the request that was applied.', 'respond-async'),
}

/** References to headers of responses, by name. */
export const headerRefs = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const headerParameter = (name: string, description: string, maxLength: number, example: string) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string', maxLength },
  example,
})

/** Headers of verification requests. */
export const VERIFICATION_HEADERS = [
  headerParameter(
    'Prefer',
    '`respond-async`: the answer is 202, and the verification is made in the background. `respond-async, wait=5`: the answer itself if it is there within 5 seconds, else 202 (RFC 7240).',
    200,
    'respond-async, wait=5',
  ),
  headerParameter(
    'Idempotency-Key',
    'The first response under this key is stored for 24 hours and replayed byte for byte, with `Idempotent-Replayed: true`. Failures (5xx) are not stored: a retry runs again, until the paid calls of this key (by default two in 24 hours) are used up. Then the last failure is returned with `retryable: false`.',
    255,
    '7f9c2ba4-e88f-4b1a-9f0e-5d3c2b1a0f9e',
  ),
  headerParameter(
    'X-Consent-Reference',
    "Your reference of the customer's consent, stored in the audit log. Some keys require it. It must not contain names, nor ten or more digits that could be a NIN, BVN or phone: use a UUID, or a date and a counter.",
    100,
    'consent-4711',
  ),
  headerParameter(
    'X-Purpose',
    'What the verification is for, in one word, stored in the audit log and shown in the report about a person. The operator may allow certain words only (`TABBAT_PURPOSES`).',
    40,
    'account-opening',
  ),
]

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
