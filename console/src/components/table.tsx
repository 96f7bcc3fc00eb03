import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  readonly isNumber?: boolean
}

type TableProps<Row> = {
  /** The name of the table, for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
}

/** On a narrow page each row is a card that repeats the titles, so that nothing needs horizontal scrolling. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <ScrollBox label={label}>
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
          {rows.map((row) => (
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
  )
}

/** A scrolling box. It takes the focus, so that it can be scrolled with the keyboard. */
export function ScrollBox({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="scrolls" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
