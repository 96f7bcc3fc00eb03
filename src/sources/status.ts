import { SourceError, type SourceFailure } from './source.ts'
import type { Trouble } from './trouble.ts'

const MEANINGS: ReadonlyMap<number, readonly [SourceFailure, Trouble]> = new Map([
  [401, ['refused', 'credentials']],
  [402, ['refused', 'funds']],
  [403, ['refused', 'credentials']],
  [408, ['timeout', 'too_slow']],
  [424, ['unreachable', 'vendor_down']],
  [429, ['throttled', 'too_many']],
  [504, ['timeout', 'too_slow']],
])

/** What an HTTP status means everywhere, for those that a vendor has not given a meaning of its own. */
export function toStatusError(source: string, status: number): SourceError {
  const [reason, trouble] = MEANINGS.get(status) ?? toRangeMeaning(status)
  return new SourceError(source, reason, { trouble, fault: isAboutQuestion(status) ? 'question' : 'source' })
}

/** The vendor is there and well, and did not like this one question. */
const isAboutQuestion = (status: number) => status === 400 || status === 422

/** What frameworks say about an unknown path: a wrong setting must not deny people. */
export const saysUnknownPath = (message: string) =>
  /^(404:? )?not found\.?$|^cannot (get|post)|\broute\b/i.test(message)

function toRangeMeaning(status: number): readonly [SourceFailure, Trouble] {
  if (status >= 500) return ['unreachable', 'vendor_failed']
  if (status >= 400) return ['bad_response', 'rejected']
  if (status >= 300) return ['bad_response', 'redirected']
  return ['bad_response', 'unknown_shape']
}
