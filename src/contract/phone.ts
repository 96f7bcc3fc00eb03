const SEPARATOR = '[ ().-]*'
const spaced = (digits: string) => [...digits].join(SEPARATOR)

/** A Nigerian mobile in any of its usual spellings, as one pattern that clients can read in OpenAPI too. */
export const PHONE_PATTERN =
  `^${SEPARATOR}(?:(?:\\+|${spaced('00')})?${SEPARATOR}${spaced('234')}|0)?${SEPARATOR}` +
  `[789]${SEPARATOR}[01](?:${SEPARATOR}[0-9]){8}${SEPARATOR}$`

/** Separators may stand anywhere, so the pattern is slow on long texts. */
const MAX_LENGTH = 64

const phonePattern = new RegExp(PHONE_PATTERN)

/** The ten digits by which two phones are compared, or undefined when the text is not a Nigerian mobile. */
export function toPhoneCore(phone: string): string | undefined {
  const trimmed = phone.trim()
  if (trimmed.length > MAX_LENGTH) return undefined
  return phonePattern.test(trimmed) ? trimmed.replace(/[^0-9]/g, '').slice(-10) : undefined
}

/** The spelling in responses: 0803… */
export const toLocalPhone = (core: string) => `0${core}`
