import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api-client.ts'
import type { Query } from '../use-query.ts'

/** Quiet for the first moment, so that a fast answer does not flicker. */
export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div class="loading" role="status">
      <span class="unseen">Loading…</span>
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

type QueryResultProps<T> = {
  readonly answer: Query<T>
  readonly lines?: number
  readonly children: (value: T) => ComponentChildren
}

/** Loading, failed, or what was asked for; an old answer stays in view while a new one fails. */
export function QueryResult<T>({ answer, lines, children }: QueryResultProps<T>) {
  const { value, error, reload } = answer
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

/** What went wrong with something that was asked for; nothing where nothing did. */
export function ErrorNote({ error }: { error: ApiError | undefined }) {
  if (!error) return null
  const fields = Object.values(error.fields)
  return (
    <div class="note bad" role="alert">
      <p>{fields.length > 0 ? fields.join(' ') : error.message}</p>
    </div>
  )
}
