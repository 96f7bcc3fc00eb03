/**
 * Error texts of vendors that mean that there is no such person. Only the complete text counts: "Record not found for this app" says
 * nothing about a person. {number} stands for the number.
 */
export const NO_SUCH_PERSON: readonly string[] = [
  'record not found',
  'no record',
  'no record found',
  'no such record',
  'no record for {number}',
  ...['nin', 'bvn', 'vnin', 'virtual nin'].flatMap((kind) => [
    `${kind} not found`,
    `${kind} does not exist`,
    `${kind} record not found`,
    `no record found for ${kind}`,
    `no record found for this ${kind}`,
    `no record found for the ${kind} provided`,
    // QoreID.
    `${kind} not found. please provide a valid ${kind}`,
    `${kind} provided is not found. please provide a valid ${kind}`,
  ]),
]

/** Error texts that mean a different phone, of vendors that compare the phone themselves. */
export const PHONE_DIFFERS: readonly string[] = ['phone', 'phone number'].flatMap((phone) => [
  `${phone} mismatch`,
  `${phone} does not match`,
  `${phone} does not match our records`,
  ...['nin', 'bvn', 'record'].map((record) => `${phone} does not match the ${record}`),
])

/** Whether a text is one of these phrases. Case, spaces and punctuation at the end make no difference. */
export function createPhraseMatcher(...lists: readonly (readonly string[] | undefined)[]) {
  const known = new Set(lists.flatMap((list) => list ?? []).map(toPhrase))
  return (text: string): boolean => known.has(toPhrase(text))
}

const toPhrase = (text: string) =>
  text
    .toLowerCase()
    .replace(/(?<![a-z\d])(?:\d{11}|[a-z]{2}\d{12}[a-z]{2})(?![a-z\d])/g, '{number}')
    .replace(/\s+/g, ' ')
    .replace(/[\s.!]+$/, '')
    .trim()
