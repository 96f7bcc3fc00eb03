import { readPurpose, toPurpose } from '../contract/free-text.ts'
import { ERRORS, type FieldErrors } from '../errors.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import { readSourceAttempts } from './export.ts'
import { type ScanPosition, toComparable } from './reverse-scan.ts'
import { AUDIT_PHASES } from './row.ts'

/** All given conditions must hold. Times are ISO texts in UTC with milliseconds, like those of the rows. */
export type AuditFilter = Partial<
  Pick<LoggedRow, 'request_reference' | 'outcome' | 'phase' | 'operation' | 'subject' | 'consent_reference'>
> & {
  readonly key_ids?: readonly string[]
  /** In lower case, as it is stored. */
  readonly purpose?: string
  /** The name of a source that was called or skipped. */
  readonly source?: string
  readonly from?: string
  readonly to?: string
}

/** The value of `outcome` that finds verifications without one. */
export const NO_OUTCOME = 'none'

const SAME = ['request_reference', 'phase', 'operation', 'subject', 'consent_reference'] as const

export const fitsRow = (row: LoggedRow, filter: AuditFilter): boolean =>
  SAME.every((name) => filter[name] === undefined || filter[name] === row[name]) &&
  fitsOutcome(row.outcome, filter) &&
  fitsKey(row, filter) &&
  fitsTime(row, filter) &&
  (filter.purpose === undefined || filter.purpose === readPurpose(row.detail)) &&
  (filter.source === undefined || readSourceAttempts(row).some(({ name }) => name === filter.source))

export const fitsOutcome = (outcome: string | null, filter: AuditFilter): boolean =>
  filter.outcome === undefined || filter.outcome === (outcome ?? NO_OUTCOME)

export const fitsKey = ({ key_id }: LoggedRow, { key_ids }: AuditFilter): boolean =>
  key_ids === undefined || (key_id !== null && key_ids.includes(key_id))

export const fitsTime = ({ time }: LoggedRow, { from, to }: AuditFilter): boolean =>
  (from === undefined || time >= from) && (to === undefined || time <= to)

/** Negative when the first is newer. */
export function compareAge(one: ScanPosition, other: ScanPosition): number {
  if (one.time !== other.time) return one.time > other.time ? -1 : 1
  if (one.chain !== other.chain) return one.chain > other.chain ? -1 : 1
  return other.sequence - one.sequence
}

/** A filter as people write it, in the console and on the command line. Empty texts do not filter. */
export type GivenFilter = {
  readonly reference?: string | undefined
  /** The id of a key, or a name that one or several keys have. */
  readonly key?: string | undefined
  readonly outcome?: string | undefined
  readonly phase?: string | undefined
  readonly operation?: string | undefined
  readonly source?: string | undefined
  readonly consent_reference?: string | undefined
  /** The X-Purpose of the caller. */
  readonly purpose?: string | undefined
  /** Times that `Date.parse` reads. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** The keyed hash of a number. */
  readonly person?: string | undefined
}

/** `keyNames` are the names of keys by their id. */
export function toAuditFilter(given: GivenFilter, keyNames: ReadonlyMap<string, string>): AuditFilter {
  const { reference, key, outcome, phase, operation, source, consent_reference, purpose, from, to, person } =
    toShownFilter(given)
  return dropAbsent({
    request_reference: reference,
    key_ids: key === undefined ? undefined : findKeyIds(key, keyNames),
    outcome,
    phase,
    operation,
    source,
    consent_reference,
    purpose: purpose && toPurpose(purpose),
    from: from && toComparable(Date.parse(from)),
    to: to && toComparable(Date.parse(to)),
    subject: person,
  })
}

/** The operations of verifications. */
export const AUDIT_OPERATIONS = ['verify_nin', 'verify_bvn'] as const

/** How a verification can end. */
const OUTCOMES: readonly string[] = ['verified', ...Object.keys(ERRORS), 'cancelled', 'expired', NO_OUTCOME]

/** Outcomes of rows that are not of a verification. A test fails when one is missing here. */
const EVENT_OUTCOMES: readonly string[] = [
  'ok',
  'refused',
  'failed',
  'accepted',
  'rejected',
  'changed',
  'unchanged',
  'waiting',
  'implausible',
  'disabled',
  'unreachable',
  'timeout',
  'throttled',
  'bad_response',
  'interrupted',
  'found',
  'not_found',
  'erased',
  'prepared',
  'rotated',
  'tidied',
  'sound',
  'faulty',
  'wrong_password',
  'wrong_code',
  'wrong_address',
  'wrong_secret',
  'revoked',
]

/**
 * The given values that no row can have. They are refused: a signed extract of a key that does not exist has no rows, and would look
 * like a proof that there were none. A source is not checked, because the log keeps those that were removed since.
 */
export function auditFilterErrors(given: GivenFilter, keyNames: ReadonlyMap<string, string>): FieldErrors {
  const { key, outcome, operation, phase } = toShownFilter(given)
  const isEvent = outcome !== undefined && EVENT_OUTCOMES.includes(outcome)
  const isOneOf = (text: string | undefined, known: readonly string[]) =>
    text === undefined || known.includes(text)
  const problems = {
    key:
      key === undefined || findKeyIds(key, keyNames).length > 0
        ? []
        : ['key must be the name or the id of a key'],
    outcome:
      isEvent || isOneOf(outcome, OUTCOMES)
        ? []
        : ['outcome must be one that the log has, such as verified or not_verified'],
    operation: isOneOf(operation, AUDIT_OPERATIONS)
      ? []
      : [`operation must be ${AUDIT_OPERATIONS.join(' or ')}`],
    phase: isOneOf(phase, AUDIT_PHASES)
      ? []
      : ['phase must be one that the log has, such as outcome or key_created'],
  }
  return Object.fromEntries(Object.entries(problems).filter(([, texts]) => texts.length > 0))
}

/** What was given, without empty texts and spaces around them. */
export const toShownFilter = (given: GivenFilter): Readonly<Partial<Record<keyof GivenFilter, string>>> =>
  dropAbsent(
    Object.fromEntries(
      Object.entries(given).map(([name, text]) => [name, text?.trim() === '' ? undefined : text?.trim()]),
    ),
  )

/** The keys with this id or name. `names` are the names of all keys by their id. */
export const findKeyIds = (key: string, names: ReadonlyMap<string, string>): string[] =>
  [...names].flatMap(([id, name]) => (id === key || name === key ? [id] : []))

const dropAbsent = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>
  }
