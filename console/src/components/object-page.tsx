import type { ComponentChildren } from 'preact'
import { toHash } from '../hash.ts'
import type { Query } from '../use-query.ts'
import { Empty, QueryResult } from './query-result.tsx'

type ObjectPageProps<T> = {
  /** The page that lists such objects. */
  readonly list: string
  readonly listTitle: string
  readonly name: string
  /** What is shown if there is no such object. */
  readonly missing: ComponentChildren
  readonly query: Query<T>
  readonly children: (value: T) => ComponentChildren
}

/** Unknown, deleted, or not an id of such an object. */
const NOT_THERE = [404, 409, 422]

/** One object at an address of its own, with the way back to its list. */
export function ObjectPage<T>({ list, listTitle, name, missing, query, children }: ObjectPageProps<T>) {
  const isMissing = query.value === undefined && NOT_THERE.includes(query.error?.status ?? 0)
  return (
    <>
      <nav class="bar" aria-label="Path">
        <a href={toHash(list)}>All {listTitle}</a>
        <span class="dim" aria-hidden="true">
          /
        </span>
        <code class="breaks">{name}</code>
      </nav>
      {isMissing ? <Empty>{missing}</Empty> : <QueryResult query={query}>{children}</QueryResult>}
    </>
  )
}

/** What an id belongs to, by its beginning. */
const ID_PAGES: Readonly<Record<string, string>> = {
  ver: 'audit',
  bat: 'batches',
  whk: 'webhooks',
  req: 'requests',
}
const ID = /\b((?:ver|bat)_[0-9a-z]{36}|whk_[0-9a-f]{16}|req_[0-9a-f]{32})\b/

const toPage = (id: string) => ID_PAGES[id.slice(0, 3)] ?? ''

/** A verification or a batch by its id, with the address of its page; any other text as it is. */
export function Reference({ text }: { text: string | null }) {
  if (text === null) return <>–</>
  if (ID.exec(text)?.[0] !== text) return <span class="breaks">{text}</span>
  return (
    <a href={toHash(toPage(text), text)}>
      <code class="clip">{text}</code>
    </a>
  )
}

/** A text in which ids are links. */
export const LinkedText = ({ text }: { text: string }) => (
  <>
    {text.split(ID).map((part, index) =>
      index % 2 === 0 ? (
        part
      ) : (
        <a key={index} href={toHash(toPage(part), part)}>
          {part}
        </a>
      ),
    )}
  </>
)

/** Sources of this server, which are no vendors. */
const OWN_SOURCES = ['sandbox', 'registry']

/** In statistics: of verifications that failed before a source answered. */
const NO_SOURCE = 'none'

/** A source by its name; a vendor with the address of its page. */
export function SourceLink({ name }: { name: string }) {
  if (name === NO_SOURCE) return <span class="dim">no source answered</span>
  return OWN_SOURCES.includes(name) ? <span>{name}</span> : <a href={toHash('sources', name)}>{name}</a>
}

type KeyLinkProps = { readonly id: string; readonly name?: string | null | undefined }

/** A key, by name and id, with the address of its page. */
export const KeyLink = ({ id, name }: KeyLinkProps) => (
  <a href={toHash('keys', id)}>
    {name && <span class="clip">{name}</span>} <code>{id}</code>
  </a>
)
