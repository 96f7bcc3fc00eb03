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

type KeyLinkProps = { readonly id: string; readonly name?: string | null | undefined }

/** A key, by name and id, with the address of its page. */
export const KeyLink = ({ id, name }: KeyLinkProps) => (
  <a href={toHash('keys', id)}>
    {name && <span class="clip">{name}</span>} <code>{id}</code>
  </a>
)
