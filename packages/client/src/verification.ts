import { invalidArgument, type TabbatError, unexpectedResponse } from './error.ts'
import type { Answer, CallOptions, Send } from './transport.ts'

export type VerifyOptions = CallOptions & {
  /**
   * 1 to 255 visible characters; without it, each call makes its own. The same key causes at most two paid calls in 24 hours
   * (`TABBAT_PAID_CALLS` of the server), and an answer is not paid for again.
   */
  readonly idempotencyKey?: string | undefined
  /** Your reference of the customer's consent, without personal data. */
  readonly consentReference?: string | undefined
  /** What the verification is for, in one word. The operator may allow certain words only. */
  readonly purpose?: string | undefined
  /** Answer later: `true` at once, a number after so many seconds at most. */
  readonly respondAsync?: boolean | number | undefined
}

/** The record exists and its phone is the phone of the request. */
export type Verified<Person> = {
  readonly verified: true
  readonly pending?: undefined
  readonly reference: string
  readonly person: Person
  /** How the names and the date of birth of the request compare with the record, if some were given and could be compared. */
  readonly match?: Match
}

export type Match = {
  readonly first_name?: MatchLevel
  readonly last_name?: MatchLevel
  readonly date_of_birth?: MatchLevel
}
export type MatchLevel = 'exact' | 'partial' | 'no'

/** There is no such record, or the phone differs. */
export type NotVerified = {
  readonly verified: false
  readonly pending?: undefined
  readonly reference: string
}

/** Neither of both yet: ask again with `pending.get(reference)`. */
export type Pending = {
  readonly verified?: undefined
  readonly pending: true
  readonly reference: string
}

export type VerificationResult<Person> = Verified<Person> | NotVerified | Pending

/** The Idempotency-Key is made before the first attempt and kept for all of them: an answer is not paid for again. */
export async function verify<Person>(
  send: Send,
  path: string,
  request: object,
  options: VerifyOptions = {},
): Promise<VerificationResult<Person>> {
  const { consentReference, purpose, respondAsync = false, ...more } = options
  const { idempotencyKey = crypto.randomUUID(), ...call } = more
  const prefer =
    typeof respondAsync === 'number' ? `respond-async, wait=${toSeconds(respondAsync)}` : 'respond-async'
  const answer = await send({
    ...call,
    method: 'POST',
    path,
    headers: {
      'content-type': 'application/json',
      'idempotency-key': toHeader('idempotencyKey', idempotencyKey, 255),
      ...(consentReference !== undefined && {
        'x-consent-reference': toHeader('consentReference', consentReference, 100),
      }),
      ...(purpose !== undefined && { 'x-purpose': toHeader('purpose', purpose, 40) }),
      ...(respondAsync !== false && { prefer }),
    },
    body: JSON.stringify(request),
    sent: listPersonal(request),
    isResult: isNotVerified,
  })
  const result = toResult<Person>(answer)
  if (result.verified && isOfAnother(result.person, request)) throw unexpectedResponse(answer.status)
  return result
}

/** A NIN or a BVN, or a virtual NIN. */
const NUMBER = /^(?:[0-9]{11}|[A-Z]{2}[0-9]{12}[A-Z]{2})$/

/** Whether the record has another number than was sent. For a virtual NIN it may have the NIN; a key may not see the number. */
function isOfAnother(person: unknown, request: object): boolean {
  const { nin, bvn } = Object(request) as { nin?: unknown; bvn?: unknown }
  const { nin_number, bvn_number } = Object(person) as { nin_number?: unknown; bvn_number?: unknown }
  const asked = String(nin ?? bvn)
    .trim()
    .toUpperCase()
  const given = String((nin === undefined ? bvn_number : nin_number) ?? '')
  return NUMBER.test(asked) && NUMBER.test(given) && given.length === asked.length && given !== asked
}

export const isNotVerified = ({ code, status }: TabbatError): boolean =>
  status === 422 && code === 'not_verified'

type Body = {
  readonly success?: unknown
  readonly data?: { readonly request_reference?: unknown; readonly verification_status?: unknown }
}

/** VERIFIED needs all its signs, so that no odd response is taken for it. */
export function toResult<Person>({ status, headers, body }: Answer): VerificationResult<Person> {
  const { success, data } = Object(body) as Body
  const reference = data?.request_reference
  const state = data?.verification_status
  if (typeof reference === 'string' && reference !== '') {
    if (status === 200 && success === true && state === 'VERIFIED')
      return { verified: true, reference, person: data as Person, ...readMatch(headers) }
    if (status === 422 && state === 'NOT_VERIFIED') return { verified: false, reference }
    if (status === 202 && state === 'PENDING') return { pending: true, reference }
  }
  throw unexpectedResponse(status)
}

/** `Tabbat-Match: first_name=exact, date_of_birth=no`. */
function readMatch(headers: Headers): { match?: Match } {
  const parts = headers.get('tabbat-match')?.matchAll(/(\w+)=(\w+)/g)
  return parts ? { match: Object.fromEntries([...parts].map(([, name, level]) => [name, level])) } : {}
}

/** An amount and an operation are not personal, and may be found in other texts. */
export const listPersonal = (request: object): string[] =>
  Object.entries(Object(request))
    .filter(([name, value]) => name !== 'amount' && name !== 'operation' && value !== '')
    .map(([, value]) => String(value))

export function toHeader(name: string, value: unknown, maxLength: number): string {
  if (typeof value === 'string' && value.length <= maxLength && /^[\x21-\x7e]+$/.test(value)) return value
  throw invalidArgument(`${name} must be 1 to ${maxLength} visible ASCII characters without spaces.`)
}

function toSeconds(value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= 3600) return value
  throw invalidArgument('respondAsync must be true, false or a whole number of seconds.')
}
