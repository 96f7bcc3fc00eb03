import type { ComponentChildren } from 'preact'
import { toCount } from '../format.ts'
import { hasText, useSearch } from '../use-search.ts'
import { TextField } from './field.tsx'
import { Empty } from './query-result.tsx'

type SearchedRowsProps<Row> = {
  /** What is searched, in the plural: `keys`. */
  readonly what: string
  readonly rows: readonly Row[]
  /** A row is found by any part of this text. */
  readonly textOf: (row: Row) => string
  readonly example: string
  /** A further filter, beside the search. */
  readonly filter?: ComponentChildren
  readonly isShown?: (row: Row) => boolean
  readonly children: (rows: readonly Row[]) => ComponentChildren
}

/** Up to this number, a list has no search. */
const FEW = 10
const every = () => true

/** A list with a search, if it is long. The page compares: nothing of what is typed is sent. */
export function SearchedRows<Row>({ what, rows, textOf, example, ...rest }: SearchedRowsProps<Row>) {
  const { filter, isShown = every, children } = rest
  const find = (searched: string) => rows.filter((row) => isShown(row) && hasText(textOf(row), searched))
  const [text, setText] = useSearch((typed) => find(typed).length > 0)
  if (rows.length <= FEW) return <>{children(rows)}</>
  const found = find(text)
  return (
    <>
      <div class="bar ends">
        <TextField
          label={`Search the ${what}`}
          type="search"
          value={text}
          onValue={setText}
          placeholder={example}
        />
        {filter}
        <span class="dim push" role="status">
          {toCount(found.length)} of {toCount(rows.length)} {what}
        </span>
      </div>
      {found.length === 0 ? (
        <Empty>
          <p>None of the {what} matches.</p>
        </Empty>
      ) : (
        children(found)
      )}
    </>
  )
}
