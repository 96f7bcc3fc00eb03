import { randomFillSync } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  findPurposeProblem,
  holdsPersonNumber,
  PERSON_NUMBER_RULE,
  toPurpose,
} from '../contract/free-text.ts'
import {
  type PersonDetails,
  REQUIRE_MATCH,
  type RequireMatch,
  toCanonicalNin,
  toPhoneCore,
} from '../contract/person.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'

/** The place of a request among those under way. A request that only waits takes none of those that work, and that wait is not for the database. */
export type Place = {
  /** False: too many wait. To be asked before anything is begun that would have to be taken back. */
  readonly mayWait: () => boolean
  readonly whileWaiting: <T>(work: () => Promise<T>) => Promise<T>
  /** During such a wait: counts as a wait for the database. Fails when too little time would be left for the commit of the answer. */
  readonly beforePaying: <T>(work: () => Promise<T>) => Promise<T>
  /** Waits for work that the answer does not need, as long as there is time. */
  readonly spare: (work: Promise<void>) => Promise<void>
}

/** One verification as it was requested: the inputs, the key, and what the headers say. */
export type VerificationRequest = {
  /** Made before anything else is done, so that every failure has it too. */
  readonly reference: string
  /** The NIN, virtual NIN in upper case, or BVN. */
  readonly number: string
  /** The ten digits by which phones are compared. */
  readonly phone: string
  readonly amount: string | undefined
  /** To be compared with the record. Undefined: nothing is compared. */
  readonly details?: PersonDetails | undefined
  readonly caller: Caller
  /** The console account that sent the request, if it came from the console. */
  readonly account: string | undefined
  readonly requestId: string
  /** Address under which this server was reached, for links in the response. */
  readonly origin: string
  readonly idempotencyKey: string | undefined
  readonly consentReference: string | undefined
  /** What the verification is for. */
  readonly purpose?: string | undefined
  /** The client refuses an earlier result: Cache-Control: no-cache or no-store. */
  readonly refusesReuse: boolean
  /** On the monotonic clock. The deadline of the sources counts from here. */
  readonly startedAt: number
  /** Undefined: requests are not traced. */
  readonly trace: RequestTrace | undefined
  /** Undefined: no caller waits for the response. */
  readonly place?: Place | undefined
}

export type Incoming = {
  readonly caller: Caller
  readonly person?: string | undefined
  readonly requestId: string
  readonly origin: string
  readonly headers: IncomingHttpHeaders
  readonly trace?: RequestTrace | undefined
  /** Is given the reference, for error bodies and the request log. */
  readonly exchange?: { reference: string | undefined; readonly place?: Place | undefined } | undefined
}

export type Inputs = {
  readonly number: string
  readonly phone: string
  readonly amount?: string
  readonly details?: PersonDetails | undefined
}

const CONSENT = /^[A-Za-z0-9._:/-]{1,100}$/
const NO_REUSE = /(^|[,\s])no-(cache|store)([,\s=]|$)/i

/** The inputs were validated before; the headers of a verification are validated here. */
export function toVerificationRequest(
  { caller, person, requestId, origin, headers, trace, exchange }: Incoming,
  { number: numberText, phone: phoneText, amount, details }: Inputs,
  purposes?: readonly string[] | undefined,
): VerificationRequest {
  const number = toCanonicalNin(numberText)
  const phone = toPhoneCore(phoneText) as string
  const consentReference = toText(headers['x-consent-reference'])
  const problem = findConsentProblem(consentReference, caller.requiresConsent, number, phone)
  const purpose = readPurposeHeader(headers['x-purpose'])
  const purposeProblem = purpose === undefined ? undefined : findPurposeProblem(purpose, purposes)
  const missing = caller.requireMatch && listMissing(caller.requireMatch, details)
  if (problem !== undefined || purposeProblem !== undefined || missing)
    throw new AppError('validation_failed', {
      errors: {
        ...(problem !== undefined && { 'X-Consent-Reference': [problem] }),
        ...(purposeProblem !== undefined && { 'X-Purpose': [`X-Purpose ${purposeProblem}`] }),
        ...missing,
      },
    })
  const reference = createReference()
  if (exchange) exchange.reference = reference
  return {
    reference,
    number,
    phone,
    amount,
    details,
    caller,
    account: person,
    requestId,
    origin,
    idempotencyKey: toText(headers['idempotency-key']),
    consentReference,
    ...(purpose !== undefined && { purpose }),
    refusesReuse: NO_REUSE.test(headers['cache-control'] ?? ''),
    startedAt: performance.now(),
    trace,
    place: exchange?.place,
  }
}

/** What is guessed about a number: requests with the same guess count as one while they run. */
export const toGuess = ({ phone, details }: Pick<VerificationRequest, 'phone' | 'details'>): string =>
  details === undefined ? phone : `${phone} ${JSON.stringify(details)}`

function listMissing(required: RequireMatch, details: PersonDetails = {}) {
  const missing = REQUIRE_MATCH[required].filter((field) => details[field] === undefined)
  if (missing.length === 0) return undefined
  return Object.fromEntries(missing.map((field) => [field, [`${field} is required for this key`]]))
}

function readPurposeHeader(header: string | string[] | undefined): string | undefined {
  const text = toText(header)
  return text === undefined ? undefined : toPurpose(text)
}

const toText = (header: string | string[] | undefined) => (Array.isArray(header) ? header.join(',') : header)

/** The reference is written to the audit log unchanged, so it must not contain the numbers of this request in any spelling. */
function findConsentProblem(
  reference: string | undefined,
  isRequired: boolean,
  number: string,
  phone: string,
): string | undefined {
  if (reference === undefined) return isRequired ? 'X-Consent-Reference is required for this key' : undefined
  if (!CONSENT.test(reference)) return 'X-Consent-Reference must be 1 to 100 letters, digits or . _ : / -'
  if (holdsPersonNumber(reference)) return `X-Consent-Reference ${PERSON_NUMBER_RULE}`
  const digits = reference.replace(/[^0-9]/g, '')
  // Of a virtual NIN, the digits between its letters.
  return digits.includes(number.replace(/[^0-9]/g, '')) || digits.includes(phone)
    ? 'X-Consent-Reference must not contain the number or the phone'
    : undefined
}

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_CHARACTERS = 26
const pool = Buffer.alloc(RANDOM_CHARACTERS * 128)
let used = pool.length

/** `ver_`, ten characters of time and twenty-six random ones (130 bits): sorts by time, cannot be guessed. */
export function createReference(now = steadyNow()): string {
  return `ver_${toTimeText(now)}${toRandomText()}`
}

/** When a reference was made; undefined if the text is none. */
export function readReferenceTime(text: string): string | undefined {
  if (!isReference(text)) return undefined
  const ms = [...text.slice(4, 14)].reduce((sum, character) => sum * 32 + CROCKFORD.indexOf(character), 0)
  return new Date(ms).toISOString()
}

const WELL_FORMED = /^ver_[0-9a-z]{20,60}$/

export const isReference = (text: string): boolean => WELL_FORMED.test(text)

let lastTime = Number.NaN
let lastText = ''

/** The last one is kept: many references are made in one millisecond. */
function toTimeText(now: number): string {
  if (now === lastTime) return lastText
  let rest = now
  let text = ''
  for (let index = 0; index < 10; index++) {
    text = CROCKFORD[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  lastTime = now
  lastText = text
  return text
}

/** Every pair of characters, by ten random bits. */
const PAIRS = Array.from({ length: 1024 }, (_each, bits) => `${CROCKFORD[bits >> 5]}${CROCKFORD[bits & 31]}`)

/** Random bytes are drawn in bulk: one call to the system per 128 references. */
function toRandomText(): string {
  if (used + RANDOM_CHARACTERS > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  let text = ''
  for (const end = used + RANDOM_CHARACTERS; used < end; used += 2)
    text += PAIRS[(((pool[used] as number) & 31) << 5) | ((pool[used + 1] as number) & 31)]
  return text
}
