import { toText } from './record.ts'
import { SourceError, type SourceFailure } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

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
export function statusError(source: string, status: number, body?: unknown): SourceError {
  const text = toErrorText(body)
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

/** The cause by the text of a 4xx; the first match counts. It never means "no such person". */
const TEXT_MEANINGS: readonly (readonly [RegExp, Meaning])[] = [
  [TEMPORARY, ['unreachable', 'vendor_down']],
  [/\binsufficient\b.*\b(balance|funds?)\b|\btop[ -]?up\b/i, ['refused', 'funds']],
  [
    /\b(app|application|merchant|client|business|account|organi[sz]ation|user) (was |is )?not found\b/i,
    ['refused', 'unknown_account'],
  ],
  [/\b(api[ _-]?key|access token|credentials?|unauthori[sz]ed)\b/i, ['refused', 'credentials']],
  [
    /^(404:? )?not found\.?$|^cannot (get|post)\b|\b(route|endpoint|url|path|page|address)\b/i,
    ['bad_response', 'unknown_path'],
  ],
  [FORMAT, ['bad_response', 'rejected']],
]

function toRejection(status: number, text: string): Meaning {
  if (status === 404 && text === '') return ['bad_response', 'unknown_path']
  return TEXT_MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? ['bad_response', 'unlisted']
}

const TEXT_FIELDS = ['message', 'detail', 'error'] as const

/** The text of an error, from whichever field has it. For comparing only. */
export function toErrorText(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const fields = body as Readonly<Record<string, unknown>>
  return TEXT_FIELDS.map((name) => toText(fields[name])).find((text) => text !== '') ?? ''
}
