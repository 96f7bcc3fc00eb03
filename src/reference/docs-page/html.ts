/** Escaped HTML. Only `html` and `raw` create it. */
export type Html = { readonly safe: string }

export type Part = Html | string | number | false | undefined | readonly Part[]

/** A template that escapes its values. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  raw(strings.reduce((page, string, index) => page + toText(parts[index - 1]) + string))

/** For text that is part of the program, such as the style sheet. */
export const raw = (text: string): Html => ({ safe: text })

/** For an id, and for the fragment of a link. */
export const toId = (text: string) => text.replace(/[^A-Za-z0-9]+/g, '-')

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeText = (text: string) => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

function toText(part: Part): string {
  if (part === undefined || part === false) return ''
  if (typeof part !== 'object') return escapeText(String(part))
  return 'safe' in part ? part.safe : part.map(toText).join('')
}
