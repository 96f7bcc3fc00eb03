import { toText } from './record.ts'
import { SourceError, type SourceFailure } from './source.ts'
import type { Trouble } from './trouble.ts'

type Meaning = readonly [SourceFailure, Trouble]

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
 * What a reply means that is neither a record nor the vendor's listed "no such person". Its text only tells the operator what
 * to look at; it goes no further. All count against the source, but for a complaint about the form of this one question.
 */
export function toStatusError(source: string, status: number, body?: unknown): SourceError {
  const said = toSaid(body)
  const [reason, trouble] = MEANINGS.get(status) ?? toRangeMeaning(status, said)
  return new SourceError(source, reason, { trouble, fault: trouble === 'rejected' ? 'question' : 'source' })
}

function toRangeMeaning(status: number, said: string): Meaning {
  if (status >= 500) return ['unreachable', 'vendor_failed']
  if (status >= 400) return toRejection(status, said)
  if (status >= 300) return ['bad_response', 'redirected']
  return ['bad_response', 'unknown_shape']
}

const SAYS_NOT_NOW =
  /\bat (this|the) (time|moment)\b|\b(by this time|later|again|temporar\w*|unavailable|not available|timed? ?out)\b/i
const SAYS_FORM = /\b(format|pattern|schema|required|invalid|must|validation|expected)\b/i

/** The look-up failed for now. */
export const saysNotNow = (said: string): boolean => SAYS_NOT_NOW.test(said)

/** The vendor does not like the form of the question. */
export const saysForm = (said: string): boolean => SAYS_FORM.test(said)

/** What the text of a 4xx tells the operator, the first that fits. It never decides about a person. */
const TELLING: readonly (readonly [RegExp, Meaning])[] = [
  [SAYS_NOT_NOW, ['unreachable', 'vendor_down']],
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
  [SAYS_FORM, ['bad_response', 'rejected']],
]

function toRejection(status: number, said: string): Meaning {
  if (status === 404 && said === '') return ['bad_response', 'unknown_path']
  return TELLING.find(([pattern]) => pattern.test(said))?.[1] ?? ['bad_response', 'unlisted']
}

const TEXT_FIELDS = ['message', 'detail', 'error'] as const

/** The text of an error, wherever the vendor has it. For comparing only. */
export function toSaid(body: unknown): string {
  if (typeof body !== 'object' || body === null) return ''
  const fields = body as Readonly<Record<string, unknown>>
  return TEXT_FIELDS.map((name) => toText(fields[name])).find((text) => text !== '') ?? ''
}
