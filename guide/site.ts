import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { html } from '../src/reference/docs-page/html.ts'
import { toAdminReference, toApiReference } from '../src/reference/docs-page.ts'
import { type Attachment, renderMarkdown, toPlainText } from './markdown.ts'
import { type Entry, INDEX, readNavigation } from './navigation.ts'
import { listHeadings, type Page, toHtmlPage } from './page.ts'

/** The style sheets of the reference page that the guide shares. */
const SHARED_STYLES = ['theme', 'text', 'tag', 'table', 'code']
const REFERENCE = 'src/reference/docs-page'

/** Entries that are no Markdown: their file, and what is made of it. */
const GENERATED = {
  'openapi.json': { title: 'API', render: toApiReference },
  'docs/admin-openapi.json': { title: 'Admin API', render: toAdminReference },
} as const

/** All files of the guide by name. The same sources give the same bytes. */
export function createSite(root: string): ReadonlyMap<string, string | Buffer> {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const groups = readNavigation(root)
  const entries: Entry[] = [
    { file: INDEX, name: 'index.html', title: 'Guide' },
    ...groups.flatMap((group) => group.entries),
  ]
  const targets = new Map(entries.map((entry) => [entry.file, entry]))
  const attachments: Attachment[] = []
  const pages = entries.map((entry): Page => {
    const generated = GENERATED[entry.file as keyof typeof GENERATED]
    if (generated)
      return toReferencePage(entry, generated.title, generated.render(JSON.parse(read(entry.file))))
    const rendered = renderMarkdown(root, entry.file, targets)
    attachments.push(...rendered.attachments)
    return { entry, title: rendered.title, body: rendered.body }
  })
  const { version } = JSON.parse(read('package.json')) as { version: string }
  return new Map<string, string | Buffer>([
    ...pages.map((page, index): [string, string] => [
      page.entry.name,
      toHtmlPage(page, groups, version, { previous: entries[index - 1], next: entries[index + 1] }),
    ]),
    ['not-found.html', toHtmlPage(NOT_FOUND, groups, version, {})],
    [
      'style.css',
      [...SHARED_STYLES.map((name) => `${REFERENCE}/style/${name}.css`), 'guide/style.css']
        .map(read)
        .join('\n'),
    ],
    [
      'script.js',
      `${read('guide/script.js')}\naddEventListener('DOMContentLoaded', () => {\n${read(`${REFERENCE}/copy.js`)}})\n`,
    ],
    ['search-index.js', toSearchIndex(pages)],
    ['icon.svg', read('console/src/icon.svg')],
    ...attachments.map(({ file, name }): [string, Buffer] => [name, readFileSync(join(root, file))]),
  ])
}

const toReferencePage = (entry: Entry, title: string, body: { readonly safe: string }): Page => ({
  entry,
  title,
  body: html`<h1>${title}</h1>${body}`.safe,
})

const NOT_FOUND: Page = {
  entry: { file: 'guide/site.ts', name: 'not-found.html', title: 'Page not found' },
  title: 'Page not found',
  body: '<h1>Page not found</h1>\n<p>The guide of this version has no such page. <a href="index.html">All pages</a></p>',
}

/**
 * The text of every section, as a script: a page that was opened from a folder may not fetch files. Of the generated references,
 * only the headings and the paragraphs: their tables repeat each other.
 */
function toSearchIndex(pages: readonly Page[]): string {
  const sections = pages.map(({ entry, title, body }) => [entry.name, title, ...listSections(body, entry)])
  return `addSearchIndex(${JSON.stringify(sections)})\n`
}

/** Id, heading and text of each section. The text before the first heading has no id. */
function listSections(
  body: string,
  { file }: Entry,
): (readonly [id: string, heading: string, text: string])[] {
  const text = file in GENERATED ? body.replace(/<(table|figure|pre|details)[\s\S]*?<\/\1>/g, ' ') : body
  const [first = '', ...rest] = text.split(/(?=<h[23] id=)/)
  const toText = (markup: string) =>
    toPlainText(markup.replace(/<\/(?:p|li|td|th|h\d|tr)>|<svg[\s\S]*?<\/svg>/g, ' '))
  return [
    ['', '', toText(first.replace(/<h1[\s\S]*?<\/h1>/, ''))],
    ...rest.map((markup) => {
      const [heading] = listHeadings(markup)
      return [
        heading?.id ?? '',
        heading?.text ?? '',
        toText(markup.replace(/<h[23][\s\S]*?<\/h[23]>/, '')),
      ] as const
    }),
  ]
}
