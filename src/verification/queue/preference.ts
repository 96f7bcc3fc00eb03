/** What the header Prefer (RFC 7240) asks for, as far as it is known here. */
export type Preference = {
  readonly isAsync: boolean
  /** In seconds. */
  readonly wait: number | undefined
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Unknown and malformed preferences are ignored, and of several with one name the first counts, as RFC 7240 says. */
export function readPreference(header: string | undefined): Preference {
  const preferences = new Map<string, string>()
  for (const part of splitOutsideQuotes(header ?? '', ',')) {
    const [first = ''] = splitOutsideQuotes(part, ';')
    const mark = first.indexOf('=')
    const name = (mark === -1 ? first : first.slice(0, mark)).trim().toLowerCase()
    const value = mark === -1 ? '' : unquote(first.slice(mark + 1).trim())
    if (NAME.test(name) && !preferences.has(name)) preferences.set(name, value)
  }
  const wait = preferences.get('wait') ?? ''
  return {
    isAsync: preferences.get('respond-async') === '',
    wait: /^\d{1,9}$/.test(wait) ? Number(wait) : undefined,
  }
}

const unquote = (text: string) =>
  /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : text

function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  const parts: string[] = []
  let part = ''
  let isQuoted = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index] as string
    if (isQuoted && character === '\\') {
      part += character + (text[++index] ?? '')
      continue
    }
    if (character === '"') isQuoted = !isQuoted
    if (character === separator && !isQuoted) {
      parts.push(part)
      part = ''
    } else part += character
  }
  return [...parts, part]
}
