import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
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
      {error && <LoadError error={error} onRetry={reload} note="What is shown below was read before." />}
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

const RETRY_MS = 5000

/** Whether the request itself is at fault: the same would be refused again. */
export const isRefusal = ({ status }: ApiError) => status >= 400 && status < 500

type LoadErrorProps = { readonly error: ApiError; readonly onRetry?: () => void; readonly note?: string }

/** Tries again by itself unless it was refused: a server or a database comes back, or another takes over. */
export function LoadError({ error, onRetry, note }: LoadErrorProps) {
  const isRetried = onRetry !== undefined && !isRefusal(error)
  useEffect(() => {
    if (!isRetried) return
    const timer = setTimeout(onRetry, RETRY_MS)
    return () => clearTimeout(timer)
    // Each attempt fails with an error of its own.
  }, [error, isRetried])
  return (
    <div class="note bad" role="alert">
      <p>
        {error.message} {isRetried && `The page tries again every ${RETRY_MS / 1000} seconds.`} {note}
      </p>
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
