import { createPhraseMatcher, NO_SUCH_PERSON } from './not-found.ts'

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
