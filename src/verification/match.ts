import { toPhoneCore } from '../contract/person.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { isOfGuess } from '../sources/failover.ts'
import { type Answer, SourceError } from '../sources/source.ts'
import type { IdType } from './id-type.ts'
import { type CallBudget, finalError } from './idempotency.ts'
import {
  checkRequired,
  type DetailMatch,
  hasMismatch,
  matchDetails,
  type PersonInfo,
} from './match-details.ts'
import type { VerificationRequest } from './verification-request.ts'

/** What a verification came to. A failure is recorded like any other outcome, before the caller is told. */
export type Decision<T> =
  | { readonly outcome: 'verified'; readonly record: T; readonly match?: DetailMatch | undefined }
  | { readonly outcome: 'not_verified'; readonly match?: DetailMatch | undefined }
  | { readonly outcome: ErrorCode; readonly error: unknown; readonly match?: undefined }

const NOT_VERIFIED = { outcome: 'not_verified' } as const

/** Compares the answer of the sources with the request. */
export function match<T>(idType: IdType<T>, request: VerificationRequest, answer: Answer<T>): Decision<T> {
  const { number, phone, details, caller } = request
  if (answer.found && !idType.isAbout(answer.record, number)) throw new AppError('source_bad_response')
  // The phone is compared even when no record was found, so that both kinds of 422 take the same steps.
  const matches = isPhoneOf(phone, answer.found ? idType.phonesIn(answer.record) : [number])
  if (details !== undefined || caller.requireMatch !== undefined)
    return matchAll(idType, request, answer, matches)
  return answer.found && matches ? { outcome: 'verified', record: answer.record } : NOT_VERIFIED
}

/** Compared even when no record was found or the phone differs, so that all kinds of 422 take the same steps. */
function matchAll<T>(
  idType: IdType<T>,
  { caller, details = {} }: VerificationRequest,
  answer: Answer<T>,
  isPhoneRight: boolean,
): Decision<T> {
  const match = matchDetails(details, answer.found ? idType.personIn(answer.record) : OTHER_PERSON, caller)
  if (!answer.found || !isPhoneRight) return NOT_VERIFIED
  const required = checkRequired(caller, match)
  if (required === 'mismatch') return { outcome: 'not_verified', match }
  // The record does not have what must match: neither answer is certain.
  if (required === 'unknown') throw new AppError('source_bad_response')
  return { outcome: 'verified', record: answer.record, match }
}

const OTHER_PERSON: PersonInfo = {
  first_name: 'Some',
  middle_name: 'Other',
  last_name: 'Person',
  full_name: 'Some Other Person',
  date_of_birth: '01-01-1970',
}

export function toFailed(thrown: unknown, budget: CallBudget | undefined): Decision<never> {
  const error = finalError(thrown, budget)
  return { outcome: error instanceof AppError ? error.code : 'internal_error', error }
}

/** Whether one of the record's phones is the phone in the request, by their ten-digit cores. */
export const isPhoneOf = (phoneCore: string, recorded: readonly (string | null)[]): boolean =>
  recorded.some((phone) => phone !== null && toPhoneCore(phone) === phoneCore)

/** Whether the decision counts against the guess limit: a detail that differs counts as a phone that differs. */
export const isFailedGuess = <T>(decision: Decision<T>): boolean =>
  'error' in decision
    ? isWrongGuess(decision.error)
    : decision.outcome === 'not_verified' || (decision.match !== undefined && hasMismatch(decision.match))

/** The caller gets an error: it counts as a wrong guess. */
const isWrongGuess = (error: unknown): boolean =>
  error instanceof AppError && error.cause instanceof SourceError && isOfGuess(error.cause)
