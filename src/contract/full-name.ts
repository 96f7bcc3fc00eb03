const HIDDEN = '****'

/** The full name of these parts. Hidden if one of them is: "Ngozi ****" would be a name that is neither shown nor hidden. */
export function toFullName(parts: readonly string[]): string {
  const names = parts.filter((name) => name !== '')
  return names.some((name) => name.includes('*')) ? HIDDEN : names.join(' ')
}
