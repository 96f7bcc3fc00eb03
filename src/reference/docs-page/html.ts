/** Text that is already safe to stand in a page. Only `html` and `raw` make it. */
export type Html = { readonly safe: string }

export type Part = Html | string | number | false | undefined | readonly Part[]

/** A template whose holes are escaped, so that nothing reaches the page unescaped by forgetting. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  raw(strings.reduce((page, string, index) => page + toText(parts[index - 1]) + string))

/** For text of our own making, such as the style sheet. */
export const raw = (text: string): Html => ({ safe: text })

/** What may stand in an id and behind # in a link. */
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
