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

/** Text to copy. One click selects it; copy.js adds a button. */
export const toCommandBlock = (title: string, command: string): Html =>
  html`<figure class="command"><figcaption>${title}</figcaption><pre><code>${command}</code></pre></figure>`

/** JSON, indented. A long block scrolls, so it can have the keyboard focus. */
export const toJsonBlock = (label: string, value: unknown): Html =>
  html`<pre class="json" tabindex="0" role="region" aria-label="${label}"><code>${toColoured(value)}</code></pre>`

/** Highlights names: at the start of a line, the string before a colon. */
const toColoured = (value: unknown) =>
  JSON.stringify(value, undefined, 2)
    .split(/^( *)("(?:[^"\\]|\\.)*")(?=: )/m)
    .map((part, index) => (index % 3 === 2 ? html`<i>${part}</i>` : part))

const MARK = /`([^`]+)`|\*\*((?:`[^`]*`|[^`*])+)\*\*/g

/** Paragraphs, `code` and **bold**: as much markdown as the descriptions use. */
export const toProse = (markdown = ''): Html =>
  html`${markdown
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => html`<p>${toInline(paragraph.trim())}</p>`)}`

/** One line of prose. Code is found before bold, because a code such as `****` is not bold. */
export function toInline(markdown = ''): Html {
  const parts: (Html | string)[] = []
  let end = 0
  for (const match of markdown.matchAll(MARK)) {
    const [whole, code, bold] = match
    parts.push(markdown.slice(end, match.index))
    parts.push(code === undefined ? html`<strong>${toInline(bold)}</strong>` : html`<code>${code}</code>`)
    end = match.index + whole.length
  }
  return html`${[...parts, markdown.slice(end)]}`
}
