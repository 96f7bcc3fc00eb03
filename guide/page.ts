import { type Html, html, raw } from '../src/reference/docs-page/html.ts'
import { toAnchor, toPlainText } from './markdown.ts'
import type { Entry, Group } from './navigation.ts'

export type Page = {
  readonly entry: Entry
  /** Of the first heading. */
  readonly title: string
  /** HTML, with the first heading. */
  readonly body: string
}

type Heading = { readonly depth: number; readonly id: string; readonly text: string }

/** The second- and third-level headings of a page that can be linked to. */
export const listHeadings = (body: string): Heading[] =>
  [...body.matchAll(/<h([23]) id="([^"]+)"[^>]*>([\s\S]*?)<\/h\1>/g)].map(
    ([, depth, id = '', text = '']) => ({ depth: Number(depth), id, text: toPlainText(text) }),
  )

/** One page of the guide. It works from a folder and under any path of a server: all links are names. */
export function toHtmlPage(
  { entry, title, body }: Page,
  groups: readonly Group[],
  version: string,
  beside: { readonly previous?: Entry | undefined; readonly next?: Entry | undefined },
): string {
  const [heading = '', text = ''] = body.split(/(?<=<\/h1>)/)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title === 'Tabbat' ? 'Tabbat guide' : `${title} · Tabbat guide`}</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">
<script src="script.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<p class="brand"><a href="index.html">Tabbat</a> <span class="version">${version}</span></p>
<search hidden>
<input type="search" id="search" placeholder="Search" aria-label="Search the guide" autocomplete="off" aria-describedby="search-keys">
<span class="vh" id="search-keys">Press / to come here, arrow keys to move through the results.</span>
<p class="vh" role="status" id="search-status"></p>
<ul id="results" hidden></ul>
</search>
<a class="to-contents" href="#contents">Contents</a>
<select id="theme" aria-label="Theme" hidden>
<option value="auto">Theme: system</option><option value="light">Theme: light</option><option value="dark">Theme: dark</option>
</select>
</header>
<main id="main" tabindex="-1">
${raw(heading)}
${toContents(listHeadings(body))}
<article>
${raw(text)}
</article>
${toFooter(entry, beside)}
</main>
<nav id="contents" aria-label="Contents" tabindex="-1">
${groups.map((group) => toGroup(group, entry))}
</nav>
</body>
</html>
`.safe
}

/** The headings of this page. A short page needs no list of them. */
function toContents(headings: readonly Heading[]): Html | false {
  if (headings.length < 3) return false
  // Of a long page, the third level would be as long as the page.
  const shown = headings.length > 60 ? headings.filter(({ depth }) => depth === 2) : headings
  return html`<nav class="toc" aria-label="On this page">
<details><summary>On this page</summary>
<ul>${shown.map(({ depth, id, text }) => html`<li class="level-${depth}"><a href="#${id}">${text}</a>`)}</ul>
</details>
</nav>`
}

/** A folded group is a link to the index, except on its own pages. */
function toGroup({ title, entries, isFolded }: Group, current: Entry): Html {
  const isOpen = !isFolded || entries.some(({ name }) => name === current.name)
  if (!isOpen) return html`<ul><li><a href="index.html#${toAnchor(title)}">${title}</a></ul>\n`
  const links = entries.map(
    ({ name, title: text }) =>
      html`<li><a href="${name}"${name === current.name && raw(' aria-current="page"')}>${text}</a>`,
  )
  return html`<p class="group">${title}</p><ul>${links}</ul>\n`
}

const toFooter = (
  { file }: Entry,
  { previous, next }: { readonly previous?: Entry | undefined; readonly next?: Entry | undefined },
) => html`<footer>
${previous && html`<a rel="prev" href="${previous.name}"><small>Previous</small>${previous.title}</a>`}
${next && html`<a rel="next" href="${next.name}"><small>Next</small>${next.title}</a>`}
<p>The text of this page is in <code>${file}</code>.</p>
</footer>`
