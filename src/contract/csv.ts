/** A line of CSV (RFC 4180). */
export const toCsvLine = (values: readonly unknown[]): string => `${values.map(toCell).join(',')}\r\n`

/** A spreadsheet would run a text that begins so as a formula: an apostrophe makes it a text. */
const FORMULA = /^[=+\-@\t\r]/

function toCell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = String(value)
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
