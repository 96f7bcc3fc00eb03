/** A vendor's reference for the audit log. Undefined when it could contain a person's number, phone or name. */
export function toCleanReference(
  reference: unknown,
  secrets: readonly string[],
  record?: unknown,
): string | undefined {
  const text = typeof reference === 'number' ? String(reference) : reference
  if (typeof text !== 'string' || !/^[A-Za-z0-9._:-]{1,100}$/.test(text)) return undefined
  // Letters alone may be a person's name, and 10 to 13 digits alone a person's number.
  if (!/\d/.test(text) || /^\d{10,13}$/.test(text)) return undefined
  const digits = toDigits(text)
  const lower = text.toLowerCase()
  const personal = listPersonal(record)
  const isPersonal =
    secrets.some((secret) => digits.includes(secret)) ||
    personal.digits.some((secret) => digits.includes(secret)) ||
    personal.words.some((word) => lower.includes(word))
  return isPersonal ? undefined : text
}

type Personal = { readonly digits: readonly string[]; readonly words: readonly string[] }

const LEAST_DIGITS = 7
const PHONE_CORE = 10
/** Names count from three letters. Words of an address count from five: shorter ones occur inside other words. */
const LEAST_NAME = 3
const LEAST_WORD = 5

/** The numbers and words of a record that identify the person. */
function listPersonal(record: unknown): Personal {
  const values = listTexts('', record)
  const numbers = values.map(([, text]) => toDigits(text)).filter((text) => text.length >= LEAST_DIGITS)
  return {
    // A phone may be written without its 0 or 234.
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
