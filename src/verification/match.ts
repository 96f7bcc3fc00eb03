import { toPhoneCore } from '../contract/phone.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { type Answer, SourceError } from '../sources/source.ts'
import type { IdType } from './id-type.ts'
import { type CallBudget, toFinalFailure } from './idempotency.ts'
import type { VerificationRequest } from './verification-request.ts'

/** What a verification came to. A failure is recorded like any other outcome, before the caller is told. */
export type Decision<T> =
  | { readonly outcome: 'verified'; readonly record: T }
  | { readonly outcome: 'not_verified' }
  | { readonly outcome: ErrorCode; readonly error: unknown }

const NOT_VERIFIED = { outcome: 'not_verified' } as const

/** Compares the answer of the sources with the request. */
export function match<T>(
  idType: IdType<T>,
  { number, phone }: VerificationRequest,
  answer: Answer<T>,
): Decision<T> {
  if (answer.found && !idType.isAbout(answer.record, number)) throw new AppError('source_bad_response')
  // The phone is compared even when no record was found, so that both kinds of 422 take the same steps.
  const matches = isPhoneOf(phone, answer.found ? idType.phonesIn(answer.record) : [number])
  return answer.found && matches ? { outcome: 'verified', record: answer.record } : NOT_VERIFIED
}

export function toFailed(thrown: unknown, budget: CallBudget | undefined): Decision<never> {
  const error = toFinalFailure(thrown, budget)
  return { outcome: error instanceof AppError ? error.code : 'internal_error', error }
}

/** Whether one of the record's phones is the phone in the request, by their ten-digit cores. */
export const isPhoneOf = (phoneCore: string, recorded: readonly (string | null)[]): boolean =>
  recorded.some((phone) => phone !== null && toPhoneCore(phone) === phoneCore)

/** Whether the decision counts against the guess limit. */
export const isFailedGuess = <T>(decision: Decision<T>): boolean =>
  'error' in decision ? isWrongGuess(decision.error) : decision.outcome === 'not_verified'

/** The phone is none of those in the record that can be read. The caller gets an error, and it counts as a wrong guess. */
const isWrongGuess = (error: unknown): boolean =>
  error instanceof AppError && error.cause instanceof SourceError && error.cause.problem === 'mixed_phones'
