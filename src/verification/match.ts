import { toPhoneCore } from '../contract/phone.ts'
import { AppError } from '../errors.ts'
import { SourceError } from '../sources/source.ts'

/** Whether one of the record's phones is the phone in the request. Compared on the ten-digit core. */
export const isPhoneOf = (phoneCore: string, recorded: readonly (string | null)[]): boolean =>
  recorded.some((phone) => phone !== null && toPhoneCore(phone) === phoneCore)

/** The phone is none of those that could be read. It is no answer to the caller, and still a guess that missed. */
export const isMissedGuess = (error: unknown): boolean =>
  error instanceof AppError && error.cause instanceof SourceError && error.cause.trouble === 'mixed_phones'
