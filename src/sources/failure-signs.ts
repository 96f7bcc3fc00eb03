/**
 * Whether a reply says that the request failed, in its envelope or in one of its parts, such as the record. Vendors have these fields
 * in other places than their documents say, so all are looked at, for every vendor alike. Deeper parts are data.
 */
export function saysFailure(body: unknown): boolean {
  if (!isObject(body)) return false
  const entries = Object.entries(body)
  return (
    entries.some(([name, value]) => isSign(name, value) || isErrorCode(name, value)) ||
    Object.values(body).some(
      (part) => isObject(part) && Object.entries(part).some(([name, value]) => isSign(name, value)),
    )
  )
}

const SUCCESS_FLAGS = ['success', 'successful', 'issuccess', 'issuccessful', 'requestsuccessful', 'ok']
const FAILURE_FLAGS = ['failed', 'iserror', 'haserror', 'haserrors', 'exception']
const ERRORS = ['error', 'errors', 'errormessage', 'errormessages']
const STATUSES = ['status', 'verificationstatus', 'requeststatus', 'responsestatus']
/** Only in the envelope: a record may have a code of something else. */
const CODES = ['statuscode', 'code', 'httpstatus', 'httpcode']

function isSign(name: string, value: unknown): boolean {
  const key = toKey(name)
  if (SUCCESS_FLAGS.includes(key)) return !YES.test(String(value).trim())
  if (FAILURE_FLAGS.includes(key) || ERRORS.includes(key)) return !isNone(value)
  return STATUSES.includes(key) && isFailedStatus(value)
}

const isErrorCode = (name: string, value: unknown) => CODES.includes(toKey(name)) && isHttpError(value)

const toKey = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '')

const YES = /^(true|1|yes|y|ok|success|successful)$/i
const NO = /^(false|no|n|0)$/i
const NONE = /^(none|null|undefined|nil|n\/?a|-*|no errors?|false|no|n|0)$/i
/** How a status begins that is not that of an answer. A mismatch of names is no failure: the record is compared here. */
const FAILED =
  /^(err(or)?s?\b|fail|exception|unsuccess|unverified|unauthor|unavailable|not[ _-]|invalid|denied|declin|reject|refus|forbid|expired|cancel|abort|time?d?[ _-]?out|pending|processing|in[ _-]?progress|queued|incomplete)/i

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
