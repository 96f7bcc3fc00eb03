import { readReason } from '../contract/reason.ts'
import { AppError } from '../errors.ts'

/** The reason of an access to personal data, checked. It is written to the audit log. */
export function requireReason(text: string): string {
  const given = readReason(text)
  if ('reason' in given) return given.reason
  throw new AppError('validation_failed', { errors: { reason: [`reason ${given.problem}`] } })
}
