/**
 * A vendor's reference goes into the audit log as it is, so it must be a plain name: not somebody's number, phone or name.
 * Undefined when it may not be written down.
 */
export function toCleanReference(
  reference: unknown,
  secrets: readonly string[],
  record?: unknown,
): string | undefined {
  const text = typeof reference === 'number' ? String(reference) : reference
  if (typeof text !== 'string' || !/^[A-Za-z0-9._:-]{1,100}$/.test(text)) return undefined
  // Without a digit it may be anybody's name; with nothing else, and this long, anybody's number.
  if (!/\d/.test(text) || /^\d{10,13}$/.test(text)) return undefined
  const digits = toDigits(text)
  const lower = text.toLowerCase()
  const personal = listPersonal(record)
  const isTold =
    secrets.some((secret) => digits.includes(secret)) ||
    personal.digits.some((secret) => digits.includes(secret)) ||
    personal.words.some((word) => lower.includes(word))
  return isTold ? undefined : text
}

type Personal = { readonly digits: readonly string[]; readonly words: readonly string[] }

const LEAST_DIGITS = 7
const PHONE_CORE = 10
/** A name is known by three letters; other words (an address, a town) are often part of longer ones. */
const LEAST_NAME = 3
const LEAST_WORD = 5

/** Whatever in a record would tell who it is about: its numbers and its words. */
function listPersonal(record: unknown): Personal {
  const values = listTexts('', record)
  const numbers = values.map(([, text]) => toDigits(text)).filter((text) => text.length >= LEAST_DIGITS)
  return {
    // A phone is also known without its 0 or 234.
    digits: numbers.flatMap((text) => [text, text.slice(-PHONE_CORE)]),
    words: values.flatMap(([field, text]) => {
      const least = field.includes('name') ? LEAST_NAME : LEAST_WORD
      return text
        .normalize('NFD')
        .replace(/\p{M}/gu, '')
        .toLowerCase()
        .split(/[^a-z]+/)
        .filter((word) => word.length >= least)
    }),
  }
}

function listTexts(field: string, value: unknown): (readonly [field: string, text: string])[] {
  if (typeof value === 'string') return [[field, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => listTexts(name, inner))
}

const toDigits = (text: string) => text.replace(/[^0-9]/g, '')
