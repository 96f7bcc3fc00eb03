import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { marked, type Token, type Tokens } from 'marked'

/** The index by reader. It is the first page, and the navigation of all pages is read from it. */
export const INDEX = 'docs/README.md'

/** A page of the guide. */
export type Entry = {
  /** Path in the repository. */
  readonly file: string
  /** Name in the guide: all its files are in one folder, so that every link is a name. */
  readonly name: string
  /** As the index calls it. */
  readonly title: string
}

export type Group = {
  readonly title: string
  readonly entries: readonly Entry[]
  /** The pages of a group under a third-level heading are shown on those pages and in the index only. */
  readonly isFolded: boolean
}

/** The groups of the index: its headings, each with the links that its lists begin with. */
export function readNavigation(root: string): Group[] {
  const groups: { title: string; isFolded: boolean; entries: Entry[] }[] = []
  for (const token of marked.lexer(readFileSync(join(root, INDEX), 'utf8'))) {
    if (token.type === 'heading' && token.depth > 1)
      groups.push({ title: token.text, isFolded: token.depth > 2, entries: [] })
    if (token.type === 'list')
      for (const item of (token as Tokens.List).items) groups.at(-1)?.entries.push(toEntry(item))
  }
  return groups.filter(({ entries }) => entries.length > 0)
}

function toEntry({ tokens, raw }: Tokens.ListItem): Entry {
  const link = findLink(tokens)
  if (!link) throw new Error(`${INDEX}: an entry of a list must begin with a link: ${raw}`)
  const file = join(dirname(INDEX), link.href)
  return { file, name: toName(file), title: link.text }
}

const findLink = (tokens: readonly Token[]): Tokens.Link | undefined =>
  tokens
    .flatMap((token) => ('tokens' in token ? (token.tokens ?? []) : []))
    .find((token): token is Tokens.Link => token.type === 'link')

/** docs/adr/0001-x.md is adr-0001-x.html, examples/README.md is examples.html, SECURITY.md is security.html. */
function toName(file: string): string {
  if (file === INDEX) return 'index.html'
  const path = file.startsWith('docs/') ? file.slice('docs/'.length) : file.toLowerCase()
  const named = path.replace(/(?<=.)\/README\.md$/i, '').replace(/\.(md|json)$/, '')
  return `${named.replaceAll('/', '-')}.html`
}
