import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Marked, type Tokens } from 'marked'
import { html, raw, toCommandBlock } from '../src/reference/docs-page/html.ts'
import type { Entry } from './navigation.ts'

/** What a page refers to besides other pages: its path in the repository, and its name in the guide. */
export type Attachment = { readonly file: string; readonly name: string }

type Rendered = { readonly title: string; readonly body: string; readonly attachments: readonly Attachment[] }

/** The id of a heading, as GitHub makes it, so that a link works there and in the guide. */
export const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/**
 * A page of Markdown as HTML. Links to other pages become links inside the guide (`pages`: by path in the repository); a file that
 * is no page is attached. HTML inside Markdown is shown as text: the pages need none.
 */
export function renderMarkdown(root: string, file: string, pages: ReadonlyMap<string, Entry>): Rendered {
  const attachments: Attachment[] = []
  const anchors = new Map<string, number>()
  const attach = (path: string) => {
    // Programs are shown as text, whatever a browser would do with their kind.
    const name = `${path.replace(/^docs\//, '').replaceAll('/', '-')}${/\.(png|svg)$/.test(path) ? '' : '.txt'}`
    attachments.push({ file: path, name })
    return name
  }
  const toTarget = (href: string): string => {
    if (/^[a-z]+:/.test(href) || href.startsWith('#')) return href
    const [relative = '', anchor] = href.split('#')
    const path = join(dirname(file), relative).replace(/\/$/, '')
    const after = anchor === undefined ? '' : `#${anchor}`
    const page = pages.get(path)
    if (page !== undefined) return page.name + after
    if (!existsSync(join(root, path))) throw new Error(`${file} refers to ${href}, which does not exist`)
    return statSync(join(root, path)).isDirectory() ? 'index.html' : attach(path)
  }
  const toId = (text: string) => {
    const anchor = toAnchor(text)
    const before = anchors.get(anchor) ?? 0
    anchors.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
  }
  const parser = new Marked({
    // A text that looks like an address, such as user:password@host in a setting, is no link.
    tokenizer: { url: () => undefined },
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${toId(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      paragraph({ tokens }) {
        const text = this.parser.parseInline(tokens)
        // Who a page is for, and what they need: the first line of many pages.
        return `<p${text.startsWith('<strong>For</strong>') ? ' class="for"' : ''}>${text}</p>\n`
      },
      link({ href, tokens }) {
        // The parser takes the end of smtps://user:password@host for an address of e-mail.
        if (href.startsWith('mailto:')) return this.parser.parseInline(tokens)
        const text = this.parser.parseInline(tokens)
        // Generated pages know the names of files only.
        const page = text === href ? pages.get(join(dirname(file), href)) : undefined
        return html`<a href="${toTarget(href)}">${raw(page ? html`${page.title}`.safe : text)}</a>`.safe
      },
      image({ href, text }) {
        if (href.endsWith('.svg')) return toPicture(join(root, dirname(file), href), text)
        return html`<img src="${toTarget(href)}" alt="${text}" loading="lazy">`.safe
      },
      code: toCode,
      table(token) {
        return toTable(token, (tokens) => this.parser.parseInline(tokens))
      },
      html: ({ text }) => html`${text}`.safe,
    },
  })
  const body = parser.parse(readFileSync(join(root, file), 'utf8'), { async: false })
  const title = /<h1[^>]*>(.*?)<\/h1>/.exec(body)?.[1] ?? file
  return { title: toPlainText(title), body, attachments }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
}

/** The text of HTML that `html` or the parser of Markdown made. */
export const toPlainText = (markup: string): string =>
  markup
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? '')
    .replace(/\s+/g, ' ')
    .trim()

/** A block in a language has a copy button. One without a language is a drawing or an output: it keeps its lines, and scrolls. */
function toCode({ text, lang = '' }: Tokens.Code): string {
  const [language = ''] = lang.split(' ')
  return language === '' || language === 'text'
    ? html`<pre class="drawn" tabindex="0" role="region" aria-label="Text"><code>${text}</code></pre>`.safe
    : toCommandBlock(language, text).safe
}

const MANY_COLUMNS = 4

/** Each cell names its column, for a narrow screen, where a row is shown as a card. */
function toTable({ header, rows }: Tokens.Table, inline: (tokens: Tokens.TableCell['tokens']) => string) {
  const titles = header.map(({ tokens }) => inline(tokens))
  const toCells = (cells: readonly Tokens.TableCell[]) =>
    cells.map(
      ({ tokens }, index) =>
        html`<td data-title="${toPlainText(titles[index] ?? '')}">${raw(inline(tokens))}</td>`,
    )
  const table = html`<table class="text">
<thead><tr>${titles.map((title) => (title === '' ? html`<td></td>` : html`<th scope="col">${raw(title)}</th>`))}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${toCells(cells)}</tr>\n`)}</tbody>
</table>
`
  // Many columns need more than the width of the text: such a table scrolls.
  return titles.length < MANY_COLUMNS
    ? table.safe
    : html`<div class="wide" tabindex="0" role="region" aria-label="Table: ${toPlainText(titles.join(', '))}">${table}</div>`
        .safe
}

/**
 * A drawing as a part of the page, so that it takes the colours of the theme that the reader chose. The style of the file is for
 * other viewers of Markdown, and the policy of the page would refuse it.
 */
function toPicture(path: string, label: string): string {
  const svg = readFileSync(path, 'utf8')
    .replace(/<\?xml[^>]*>\s*/, '')
    .replace(/<style>[\s\S]*?<\/style>\s*/, '')
    .trim()
  return html`<span class="picture" tabindex="0" role="region" aria-label="${label}">${raw(svg)}</span>`.safe
}
