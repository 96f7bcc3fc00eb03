import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api-client.ts'
import type { Query } from '../use-query.ts'

type QueryResultProps<T> = {
  readonly query: Query<T>
  readonly lines?: number
  readonly children: (value: T) => ComponentChildren
}

/** Shows a placeholder, an error or the value. An old value stays visible when a reload fails. */
export function QueryResult<T>({ query, lines, children }: QueryResultProps<T>) {
  const { value, error, reload } = query
  if (value === undefined) {
    if (error) return <LoadError error={error} onRetry={reload} />
    return lines === undefined ? <Loading /> : <Loading lines={lines} />
  }
  return (
    <>
      {error && <LoadError error={error} onRetry={reload} />}
      {children(value)}
    </>
  )
}

/** Invisible for the first moment, so that a fast response does not flicker. */
export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">Loading…</span>
      {Array.from({ length: lines }, (_, index) => (
        <span class="bone" key={index} />
      ))}
    </div>
  )
}

export function LoadError({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <p>{error.message}</p>
      {onRetry && (
        <button type="button" class="small" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}
