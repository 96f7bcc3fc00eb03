import { userInfo } from 'node:os'

/**
 * Text that people and callers write themselves is stored in the clear: consent references, reasons, names of keys and
 * accounts, notes. It must not hold the number of a person.
 */

/** Completes the sentence "<field> …". */
export const PERSON_NUMBER_RULE =
  'must not hold ten digits or more that could be a NIN, BVN or phone; use a UUID, or a date and a counter'

/**
 * Whether a text holds digits that could be a NIN, BVN or phone: ten or more
 *  - with no letter between them, whatever else is (spaces, signs, invisible characters), in any script, or
 *  - in groups with one to three letters between them that are always the same, at least twice (0803x123x4567), or
 *  - in groups of one to three digits with always as many letters between them (1a2b3c…).
 * Dates of this century, a year before a counter (2026/000123), and random ids do not count.
 */
export function holdsPersonNumber(text: string): boolean {
  const known = toAsciiDigits(text)
    .replaceAll(RANDOM_ID, BREAK)
    .replaceAll(DATE, BREAK)
    .replaceAll(YEAR, BREAK)
  const dense = known.replaceAll(/[^\p{L}\d]/gu, '')
  return INTERLEAVED.some((pattern) => pattern.test(dense)) || hasSameSeparators(dense)
}

const LEAST_DIGITS = 10
/** Two letters that differ in number and kind from every pattern of interleaving. */
const BREAK = ' zzzzq '

/** UUID, hexadecimal of 24, 32, 40 or 64 characters, ULID. Each needs some letters: digits alone may be anything. */
const RANDOM_ID = new RegExp(
  [
    '(?=(?:[-\\d]*[a-f]){2})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
    '(?=(?:\\d*[a-f]){4})(?:[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})',
    '(?=(?:\\d*[a-z]){6})[0-7][0-9a-hjkmnp-tv-z]{25}',
  ]
    .map((id) => `(?<![0-9a-z])${id}(?![0-9a-z])`)
    .join('|'),
  'gi',
)

/** 2026-11-15, 2026.11.15, 20261115, 15/11/2026: with no digit beside it. */
const DATE =
  /(?<!\d)(?:20\d\d([-./]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|[12]\d|3[01])([-./])(?:0[1-9]|1[0-2])\2(?:20)\d\d)(?!\d)/g

/** The years of our time, where digits begin and a sign follows. */
const YEAR = /(?<!\d|\d[-./_: ])20[23]\d(?=[-./_:])/g

const INTERLEAVED: readonly RegExp[] = [
  new RegExp(`\\d{${LEAST_DIGITS}}`),
  ...[1, 2, 3].flatMap((digits) => [1, 2, 3].map((letters) => toInterleaved(digits, letters))),
]

/** The last group may be shorter. */
function toInterleaved(digits: number, letters: number): RegExp {
  const groups = Math.ceil(LEAST_DIGITS / digits) - 1
  const last = LEAST_DIGITS - groups * digits
  return new RegExp(`(?:\\d{${digits}}\\p{L}{${letters}}){${groups}}\\d{${last}}`, 'u')
}

const SAME_SEPARATORS = /\d+(\p{L}{1,3})\d+(?:\1\d+)+/giu

const hasSameSeparators = (dense: string) =>
  (dense.match(SAME_SEPARATORS) ?? []).some((run) => run.replaceAll(/\D/g, '').length >= LEAST_DIGITS)

/** Full-width, circled, Arabic and all other digits as 0 to 9, without what is drawn around them or not at all. */
const toAsciiDigits = (text: string) =>
  text
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\p{M}]/gu, '')
    .replaceAll(/(?![0-9])\p{Nd}/gu, toAsciiDigit)

/** The decimal digits of a script stand together, 0 to 9, and begin where the character before is none. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1
  return String(value)
}

/** Why a person did something, for the audit log: it must not contain a NIN, BVN or phone. */
type Reason = { readonly reason: string } | { readonly problem: string }

/** `problem` completes the sentence "reason …". */
export function readReason(text: string): Reason {
  const reason = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
  if (reason.length < 10 || reason.length > 200) return { problem: 'must have 10 to 200 characters' }
  return holdsPersonNumber(reason) ? { problem: PERSON_NUMBER_RULE } : { reason }
}

const PURPOSE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/

/** Completes the sentence "X-Purpose …". */
const PURPOSE_RULE = 'must be 1 to 40 letters, digits or . _ -, and begin with a letter or a digit'

/** Purposes are compared and stored in lower case. */
export const toPurpose = (text: string): string => text.trim().toLowerCase()

/** What is wrong with a purpose. `allowed` is undefined where any may be given. */
export function findPurposeProblem(
  purpose: string,
  allowed: readonly string[] | undefined,
): string | undefined {
  if (!PURPOSE.test(purpose)) return PURPOSE_RULE
  if (holdsPersonNumber(purpose)) return PERSON_NUMBER_RULE
  if (allowed && !allowed.includes(purpose)) return `must be one of ${allowed.join(', ')}`
  return undefined
}

/** The purpose as a part of the detail of an audit row. */
export const toPurposeDetail = (purpose: string) => `purpose: ${purpose}`

const IN_DETAIL = /(?:^|; )purpose: ([a-z0-9][a-z0-9._-]*)(?:;|$)/

export const readPurpose = (detail: string | null): string | undefined => IN_DETAIL.exec(detail ?? '')?.[1]

const SUFFIX = ' (cli)'

/** The author of what is done on the command line: the system user and the word cli. No account can have such a name. */
export const toCommandAuthor = (): string => `${readSystemUser()}${SUFFIX}`

export const isCommandAuthor = (name: string): boolean => name.endsWith(SUFFIX)

/** The number of the user where it has no name, as in many containers, or a name that is not plain text. */
function readSystemUser(): string {
  try {
    const { username, uid } = userInfo()
    return isPlainName(username) ? username : `uid ${uid}`
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Also names of Windows domains, such as SHOP\ada. */
const isPlainName = (name: string) => /^[\p{L}\d._@$\\-]{1,64}$/u.test(name) && !holdsPersonNumber(name)
