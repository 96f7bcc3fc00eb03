import { type ComponentChildren, type RefObject, render } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { toCsvLine } from '../../../src/contract/csv.ts'
import { toCount } from '../format.ts'
import { saveFile } from '../save-file.ts'

export type Column<Row> = {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
  /** Columns of the CSV file instead of this one, where the cell shows several values, or words that are no value. */
  readonly exported?: Readonly<Record<string, (row: Row) => string | number | null>>
}

type TableProps<Row> = {
  /** The name of the table, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
  /** The name of the CSV file with all rows. Absent: no export. */
  readonly file?: string
  /** The address of a CSV file of the whole list, where `rows` are a part of it. */
  readonly exportUrl?: string
  /** The page adds older rows below, so all are shown. */
  readonly isGrowing?: boolean
}

const PAGE_ROWS = 50

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, file, exportUrl, isGrowing = false } = props
  const [wanted, setStart] = useState(0)
  const box = useCards(columns.length)
  const isPaged = !isGrowing && rows.length > PAGE_ROWS
  const start = isPaged ? Math.min(wanted, toLastStart(rows.length)) : 0
  const shown = isPaged ? rows.slice(start, start + PAGE_ROWS) : rows
  return (
    <>
      <ScrollBox label={label} box={box}>
        <div class="ruler" />
        <table class="rows">
          <thead>
            <tr>
              {columns.map(({ title, isNumber }) => (
                <th key={title} scope="col" class={isNumber ? 'number' : ''}>
                  {title === '' ? <span class="visually-hidden">Actions</span> : title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={keyOf(row)}>
                {columns.map(({ title, cell, isNumber }) => (
                  <td key={title} class={isNumber ? 'number' : ''} data-title={title}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {(isPaged || file !== undefined || exportUrl !== undefined) && (
        <div class="bar">
          {isPaged && <Pages start={start} total={rows.length} label={label} onStart={setStart} />}
          {exportUrl !== undefined && (
            <a class="button plain small push" aria-label={`Export CSV: ${label}`} href={exportUrl} download>
              Export CSV
            </a>
          )}
          {file !== undefined && (
            <button
              type="button"
              class="plain small push"
              aria-label={`Export CSV: ${label}`}
              onClick={() => saveFile(`${file}.csv`, 'text/csv', toCsv(columns, rows))}
            >
              Export CSV
            </button>
          )}
        </div>
      )}
    </>
  )
}

const toLastStart = (rows: number) => Math.floor((rows - 1) / PAGE_ROWS) * PAGE_ROWS

type PagesProps = {
  readonly start: number
  readonly total: number
  readonly label: string
  readonly onStart: (start: number) => void
}

function Pages({ start, total, label, onStart }: PagesProps) {
  const last = toLastStart(total)
  return (
    <nav class="bar" aria-label={`Pages of: ${label}`}>
      <button
        type="button"
        class="small"
        disabled={start === 0}
        onClick={() => onStart(Math.max(0, start - PAGE_ROWS))}
      >
        Previous
      </button>
      <button
        type="button"
        class="small"
        disabled={start >= last}
        onClick={() => onStart(Math.min(last, start + PAGE_ROWS))}
      >
        Next
      </button>
      <span class="dim" role="status">
        {toCount(start + 1)}–{toCount(Math.min(start + PAGE_ROWS, total))} of {toCount(total)}
      </span>
    </nav>
  )
}

/** A column that is narrower than this, on average, breaks its words. */
const MIN_COLUMN_PX = 100

/**
 * Rows become cards that repeat the titles if the columns do not fit beside each other, so that nothing needs horizontal
 * scrolling and no column covers another. A style sheet cannot tell whether they fit.
 */
function useCards(columns: number): RefObject<HTMLElement | null> {
  const box = useRef<HTMLElement>(null)
  // After every change, because the content decides too.
  useLayoutEffect(() => {
    const { current } = box
    const ruler = current?.firstElementChild
    if (!current || !ruler) return
    const arrange = () => {
      delete current.dataset.cards
      const { clientWidth, scrollWidth } = current
      if (clientWidth < columns * MIN_COLUMN_PX || scrollWidth > clientWidth) current.dataset.cards = ''
    }
    arrange()
    // Of the ruler, whose height does not change with the cards.
    const observer = new ResizeObserver(arrange)
    observer.observe(ruler)
    return () => observer.disconnect()
  })
  return box
}

/** What the cells show, of all rows, with whole times. */
function toCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const exported = columns
    .filter(({ title }) => title !== '')
    .flatMap(({ title, cell, exported }) =>
      Object.entries(exported ?? { [title]: (row: Row) => toCellText(cell(row)) }),
    )
  const lines = rows.map((row) => exported.map(([, toValue]) => toValue(row)))
  return [exported.map(([title]) => title), ...lines].map(toCsvLine).join('')
}

const NUMBER = /^\d{1,3}(?:,\d{3})*(?:\.\d+)?$/

function toCellText(content: ComponentChildren): string {
  const place = document.createElement('div')
  render(content, place)
  for (const time of place.querySelectorAll('time')) time.textContent = time.dateTime
  const text = (place.textContent ?? '').trim()
  return NUMBER.test(text) ? text.replaceAll(',', '') : text
}

type ScrollBoxProps = {
  readonly label: string
  readonly box?: RefObject<HTMLElement | null>
  readonly children: ComponentChildren
}

/** A scrolling box. It takes the focus, so that it can be scrolled with the keyboard. */
export function ScrollBox({ label, box, children }: ScrollBoxProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="scrolls" aria-label={label} tabIndex={0} {...(box ? { ref: box } : {})}>
      {children}
    </section>
  )
}
