import { type Html, html } from './html.ts'

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
