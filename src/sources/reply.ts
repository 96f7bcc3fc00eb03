import { Ajv, type ValidateFunction } from 'ajv'
import { toLocalPhone } from '../contract/person.ts'
import { type Static, type TProperties, type TSchema, Type } from '../contract/schema.ts'
import { MINUTE_MS } from '../contract/time.ts'
import { PrivateAddress } from './public-address.ts'
import { toText } from './record.ts'
import { type Call, SourceError, type SourceFailure } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

/** A field of any type: vendors omit it, send null, or numbers for strings. It is checked where it is read. */
export const anyValue = Type.Optional(Type.Unsafe<unknown>({}))

/** An object with these fields; other fields are ignored. */
export const objectWith = <T extends TProperties>(properties: T) =>
  Type.Object(properties, { additionalProperties: true })

/** An object of optional fields of any type. */
export const optionalFields = <Name extends string>(...names: readonly Name[]) =>
  objectWith(Object.fromEntries(names.map((name) => [name, anyValue])) as Record<Name, typeof anyValue>)

/** A reply with a record that also reports a failure is a bad response. */
export function refuseContradiction(source: string, saysFailed: boolean): void {
  if (saysFailed) throw new SourceError(source, 'bad_response', { problem: 'contradictory' })
}

const compiled = new WeakMap<object, ValidateFunction>()

/** Once for a shape, and without the schema of schemas: to compile that one takes longer than all shapes. */
function toValidate(shape: object): ValidateFunction {
  const known = compiled.get(shape)
  if (known) return known
  const made = new Ajv({ strict: false, validateSchema: false }).compile(shape)
  compiled.set(shape, made)
  return made
}

/** Checks a reply against its shape; another shape is a bad response. */
export function createReader<T extends TSchema>(source: string, shape: T): (body: unknown) => Static<T> {
  const fits = toValidate(shape)
  return (body) => {
    if (fits(body)) return body as Static<T>
    throw new SourceError(source, 'bad_response', { problem: 'unknown_shape' })
  }
}

type Meaning = readonly [SourceFailure, SourceProblem]

const MEANINGS: ReadonlyMap<number, Meaning> = new Map([
  [401, ['refused', 'credentials']],
  [402, ['refused', 'funds']],
  [403, ['refused', 'credentials']],
  [405, ['bad_response', 'unknown_path']],
  [408, ['timeout', 'too_slow']],
  [424, ['unreachable', 'vendor_down']],
  [429, ['throttled', 'too_many']],
  [504, ['timeout', 'too_slow']],
])

/**
 * The error for a reply that is neither a record nor a listed "no such person". The vendor's text selects the cause and is
 * then dropped.
 */
export function statusError(source: string, status: number, text = ''): SourceError {
  const [reason, problem] = MEANINGS.get(status) ?? toRangeMeaning(status, text)
  return new SourceError(source, reason, { problem })
}

function toRangeMeaning(status: number, text: string): Meaning {
  if (status >= 500) return ['unreachable', 'vendor_failed']
  if (status >= 400) return toRejection(status, text)
  if (status >= 300) return ['bad_response', 'redirected']
  return ['bad_response', 'unknown_shape']
}

const TEMPORARY =
  /\bat (this|the) (time|moment)\b|\b(by this time|later|again|temporar\w*|unavailable|not available|timed? ?out)\b/i
const FORMAT = /\b(format|pattern|schema|required|invalid|must|validation|expected)\b/i

/** The text says that the look-up failed for now. */
export const isTemporary = (text: string): boolean => TEMPORARY.test(text)

/** The text complains about the format of the request. */
export const isFormatComplaint = (text: string): boolean => FORMAT.test(text)

const FUNDS =
  /\binsufficient\b.*\b(balance|funds?|wallet|credits?|units?)\b|\b(low|no|zero) (wallet )?(balance|funds?|credits?|units)\b|\btop[ -]?up\b/i

/** The text says that the account of the operator is empty. */
export const isFundsText = (text: string): boolean => FUNDS.test(text)

/** The cause by the text of a 4xx; the first match counts. It never means "no such person". */
const TEXT_MEANINGS: readonly (readonly [RegExp, Meaning])[] = [
  [TEMPORARY, ['unreachable', 'vendor_down']],
  [FUNDS, ['refused', 'funds']],
  [
    /\b(app|application|merchant|client|business|account|organi[sz]ation|user) (was |is )?not found\b/i,
    ['refused', 'unknown_account'],
  ],
  [
    /\b(api[ _-]?key|access (token|denied)|credentials?|unauthori[sz]ed|not authori[sz]ed|unauthenticated|forbidden|permissions?|whitelisted|subscription)\b/i,
    ['refused', 'credentials'],
  ],
  [
    /^(404:? )?not found\.?$|^cannot (get|post)\b|\b(route|endpoint|url|path|page|address)\b/i,
    ['bad_response', 'unknown_path'],
  ],
  [FORMAT, ['bad_response', 'rejected']],
]

/** Whether the text is about something else than a person: the vendor, the account, the credentials or the path. */
export const isAboutNoPerson = (text: string): boolean =>
  TEXT_MEANINGS.some(([pattern]) => pattern !== FORMAT && pattern.test(text))

function toRejection(status: number, text: string): Meaning {
  if (status === 404 && text === '') return ['bad_response', 'unknown_path']
  return TEXT_MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? ['bad_response', 'unlisted']
}

export const TEXT_FIELDS = ['message', 'detail', 'error'] as const

/** The text of an error, from whichever field has it. For comparing only. */
export function toErrorText(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const fields = body as Readonly<Record<string, unknown>>
  return TEXT_FIELDS.map((name) => toText(fields[name])).find((text) => text !== '') ?? ''
}

/**
 * Error texts of vendors that mean that there is no such person. Only the complete text counts: "Record not found for this app" says
 * nothing about a person. {number} stands for the number.
 */
export const NO_SUCH_PERSON: readonly string[] = [
  'record not found',
  'no record',
  'no record found',
  'no such record',
  'no record for {number}',
  ...['nin', 'bvn', 'vnin', 'virtual nin'].flatMap((kind) => [
    `${kind} not found`,
    `${kind} does not exist`,
    `${kind} record not found`,
    `no record found for ${kind}`,
    `no record found for this ${kind}`,
    `no record found for the ${kind} provided`,
    // QoreID.
    `${kind} not found. please provide a valid ${kind}`,
    `${kind} provided is not found. please provide a valid ${kind}`,
  ]),
]

/** Error texts that mean a different phone, of vendors that compare the phone themselves. */
export const PHONE_DIFFERS: readonly string[] = ['phone', 'phone number'].flatMap((phone) => [
  `${phone} mismatch`,
  `${phone} does not match`,
  `${phone} does not match our records`,
  ...['nin', 'bvn', 'record'].map((record) => `${phone} does not match the ${record}`),
])

/** Whether a text is one of these phrases. Case, spaces and punctuation at the end make no difference. */
export function createPhraseMatcher(...lists: readonly (readonly string[] | undefined)[]) {
  const known = new Set(lists.flatMap((list) => list ?? []).map(toPhrase))
  return (text: string): boolean => known.has(toPhrase(text))
}

/** A NIN, a BVN or a virtual NIN in a text. */
export const NUMBER_IN_TEXT = /(?<![a-z\d])(?:\d{11}|[a-z]{2}\d{12}[a-z]{2})(?![a-z\d])/gi

const toPhrase = (text: string) =>
  withoutEnd(text.toLowerCase().replace(NUMBER_IN_TEXT, '{number}').replace(/\s+/g, ' ')).trim()

const END = new Set(' .!')

/**
 * Without spaces, points and exclamation marks at the end. A pattern (`[ .!]+$`) would try each of a long run in the middle, again
 * and again: minutes for an answer of 100 000.
 */
export function withoutEnd(text: string): string {
  let { length } = text
  while (END.has(text[length - 1] ?? '')) length -= 1
  return text.slice(0, length)
}

type Requested = { readonly number: string; readonly phone: string }

const NUMBER_FIELDS = ['nin', 'bvn', 'vnin', 'idnumber', 'ninnumber', 'bvnnumber', 'searchparameter']
const LOCAL_MOBILE = /^0[789][01]\d{8}$/
const MAX_TEXT_DEPTH = 5

/**
 * Whether a reply without a record is about another number than the requested one: it has it in a text, or in a field for the number.
 * A value without a space in any other field is a reference. The requested phone is never another number. Nor is any other mobile, as
 * that of a help desk, except in the error text if it does not name the requested number.
 */
export function namesOtherNumber(body: unknown, requested: Requested): boolean {
  const number = requested.number.toLowerCase()
  const phone = toLocalPhone(requested.phone)
  const hasOther = (text: string, mayBePhone: boolean): boolean => {
    const lower = text.toLowerCase()
    const ignoresMobiles = mayBePhone || lower.includes(number)
    const named: readonly string[] = lower.match(NUMBER_IN_TEXT) ?? []
    return named.some(
      (each) => each !== number && each !== phone && !(ignoresMobiles && LOCAL_MOBILE.test(each)),
    )
  }
  const isOther = (name: string, value: unknown, depth: number): boolean => {
    if (typeof value === 'object' && value !== null)
      return (
        depth < MAX_TEXT_DEPTH &&
        Object.entries(value).some(([inner, part]) => isOther(inner, part, depth + 1))
      )
    const text = toText(value)
    if (NUMBER_FIELDS.includes(toKey(name))) return hasOther(text, false)
    return text.includes(' ') && hasOther(text, true)
  }
  return hasOther(toErrorText(body), false) || isOther('', body, 0)
}

/**
 * Whether a reply says that the request failed, in its envelope or in one of its parts, such as the record. Vendors have these fields
 * in other places than their documents say, so all are looked at, for every vendor alike. Deeper parts are data.
 */
export function saysFailure(body: unknown): boolean {
  if (!isObject(body)) return false
  const entries = Object.entries(body)
  return (
    entries.some(
      ([name, value]) => isSign(name, value) || isErrorCode(name, value) || isErrorText(name, value),
    ) ||
    Object.values(body).some(
      (part) => isObject(part) && Object.entries(part).some(([name, value]) => isSign(name, value)),
    )
  )
}

const SUCCESS_FLAGS = ['success', 'successful', 'issuccess', 'issuccessful', 'requestsuccessful', 'ok']
const FAILURE_FLAGS = ['failed', 'iserror', 'haserror', 'haserrors', 'exception']
/** Only an explicit "no" counts: a record may have such a field without a value. */
const VERDICTS = ['verified', 'isverified', 'found', 'isfound', 'valid', 'isvalid']
const ERRORS = ['error', 'errors', 'errormessage', 'errormessages', 'err', 'fault', 'faultstring']
const STATUSES = ['status', 'verificationstatus', 'requeststatus', 'responsestatus', 'result', 'outcome']
/** Only in the envelope: a record may have a code of something else. */
const CODES = ['statuscode', 'code', 'httpstatus', 'httpcode', 'responsecode', 'resultcode', 'errorcode']
/** Only in the envelope, and only texts that cannot stand beside a record. */
const TEXTS = ['message', 'detail', 'description', 'reason']

function isSign(name: string, value: unknown): boolean {
  const key = toKey(name)
  if (SUCCESS_FLAGS.includes(key)) return !YES.test(String(value).trim())
  if (FAILURE_FLAGS.includes(key) || ERRORS.includes(key)) return !isNone(value)
  if (VERDICTS.includes(key)) return value !== null && NO.test(String(value).trim())
  return STATUSES.includes(key) && isFailedStatus(value)
}

const isErrorCode = (name: string, value: unknown) => CODES.includes(toKey(name)) && isHttpError(value)

const saysNoSuchPerson = createPhraseMatcher(NO_SUCH_PERSON)
const FAILED_TEXT =
  /^((verification|request|look-?up|search) (has )?failed|fail(ed|ure)|errors?|not found)\b/i

const isErrorText = (name: string, value: unknown) =>
  TEXTS.includes(toKey(name)) &&
  typeof value === 'string' &&
  (saysNoSuchPerson(value) || FAILED_TEXT.test(value.trim()))

const toKey = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '')

const YES = /^(true|1|yes|y|ok|success|successful)$/i
const NO = /^(false|no|n|0)$/i
const NONE = /^(none|null|undefined|nil|n\/?a|-*|no errors?|false|no|n|0)$/i
/** How a status begins that is not that of an answer. A mismatch of names is no failure: the record is compared here. */
const FAILED =
  /^(err(or)?s?\b|fail|exception|unsuccess|unverified|unauthor|unavailable|not[ _-]|invalid|denied|declin|reject|refus|forbid|expired|cancel|abort|time?d?[ _-]?out|pending|processing|in[ _-]?progress|queued|incomplete|blocked|suspend|down\b|bad[ _-]|no[ _-](record|data|result))/i

function isFailedStatus(value: unknown): boolean {
  if (typeof value === 'object') return false
  const text = String(value).trim()
  return NO.test(text) || FAILED.test(text) || isHttpError(text)
}

const isHttpError = (value: unknown) => /^[45]\d\d$/.test(String(value).trim())

/** No error: empty, "none", false, 0, or a list or an object of nothing else. */
function isNone(value: unknown, depth = 0): boolean {
  if (value === null || value === undefined) return true
  if (typeof value === 'object')
    return depth < 3 && Object.values(value).every((part) => isNone(part, depth + 1))
  return NONE.test(String(value).trim())
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A longer Retry-After is cut to this: one call then shows whether the vendor still refuses. */
const MAX_RETRY_AFTER_MS = 10 * MINUTE_MS
const RETRY_STATUSES: readonly number[] = [429, 503]

type RawReply = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The Retry-After of a reply, given in seconds or as an HTTP date. */
export function readRetryAfterMs(
  { statusCode, headers }: RawReply,
  maxMs = MAX_RETRY_AFTER_MS,
): number | undefined {
  const value = headers['retry-after']
  if (typeof value !== 'string' || !RETRY_STATUSES.includes(statusCode)) return undefined
  const ms = /^\s*\d{1,9}\s*$/.test(value) ? Number(value) * 1000 : toWaitMs(value, headers.date)
  return ms > 0 ? Math.min(ms, maxMs) : undefined
}

/** A date is compared with the vendor's own clock, which may differ from ours. */
function toWaitMs(value: string, date: string | string[] | undefined): number {
  const now = Date.parse(String(date))
  return Date.parse(value) - (Number.isNaN(now) ? Date.now() : now)
}

/** Adds the vendor's Retry-After to the error of a failed call. */
export async function withRetryAfter<T>(
  work: (onRetryAfter: NonNullable<Call['onRetryAfter']>) => Promise<T>,
): Promise<T> {
  let retryAfterMs: number | undefined
  try {
    return await work((ms) => {
      retryAfterMs = ms
    })
  } catch (error) {
    if (retryAfterMs === undefined || !(error instanceof SourceError) || !isAboutSource(error)) throw error
    const { source, reason, problem, sent, fault } = error
    throw new SourceError(source, reason, { problem, sent, fault, retryAfterMs })
  }
}

/** The error is about the source and not about one request, and the vendor's own code has not set a Retry-After. */
const isAboutSource = ({ reason, fault, retryAfterMs }: SourceError) =>
  fault === 'source' && retryAfterMs === undefined && (reason === 'throttled' || reason === 'unreachable')

/** How far a request has come. Before it is sent, the vendor cannot charge for it. */
export type Progress = { sent: boolean; answered: boolean }

/** Drops the error's own message: it may contain the URL, and with it the number. */
export function exchangeError(
  source: string,
  error: unknown,
  { sent, answered }: Progress,
  aborted: boolean,
): SourceError {
  if (error instanceof SourceError) return error
  if (error instanceof PrivateAddress)
    return new SourceError(source, 'refused', { problem: 'private_address', sent: false })
  const code = String((error as { code?: unknown })?.code ?? '')
  if (aborted || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new SourceError(source, 'timeout', { problem: 'too_slow', sent })
  if (!sent) return new SourceError(source, 'unreachable', { problem: toConnectProblem(code), sent })
  const [reason, problem] = toSentMeaning(code, answered)
  return new SourceError(source, reason, { problem, fault: 'source' })
}

function toSentMeaning(code: string, answered: boolean): readonly [SourceFailure, SourceProblem] {
  if (answered) return ['bad_response', 'truncated']
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return ['bad_response', 'unknown_shape']
  return ['unreachable', 'cut_off']
}

const CONNECT_PROBLEMS: Readonly<Record<string, SourceProblem>> = {
  ENOTFOUND: 'no_such_host',
  EAI_AGAIN: 'no_such_host',
  SLOW_CONNECTION: 'slow_connection',
  UND_ERR_CONNECT_TIMEOUT: 'slow_connection',
  ETIMEDOUT: 'slow_connection',
  // The connection was closed during the TLS handshake.
  ECONNRESET: 'no_tls',
  EPROTO: 'no_tls',
}

/** Why no connection was made. */
function toConnectProblem(code: string): SourceProblem {
  const known = CONNECT_PROBLEMS[code]
  if (known) return known
  if (/CERT|^ERR_TLS|^UNABLE_TO|SELF_SIGNED/.test(code)) return 'bad_certificate'
  return code.startsWith('ERR_SSL') ? 'no_tls' : 'no_connection'
}
