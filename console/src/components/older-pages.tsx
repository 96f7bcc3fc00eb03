type OlderPagesProps = {
  /** Of the page that is shown. Undefined: the newest. */
  readonly before: string | undefined
  readonly next: string | null
  readonly onPage: (before: string | undefined) => void
}

/** Buttons for a list that the server gives page by page, the newest first. */
export function OlderPages({ before, next, onPage }: OlderPagesProps) {
  if (before === undefined && next === null) return null
  return (
    <nav class="bar" aria-label="Older and newer">
      <button type="button" class="small" disabled={before === undefined} onClick={() => onPage(undefined)}>
        Newest
      </button>
      <button
        type="button"
        class="small"
        disabled={next === null}
        onClick={() => next !== null && onPage(next)}
      >
        Older
      </button>
    </nav>
  )
}
