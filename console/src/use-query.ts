import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ApiError } from './api-client.ts'
import { useAppContext } from './app-context.ts'

/** The state of a GET request. The old value stays while a new one loads. */
export type Query<T> = {
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly reload: () => void
}

export function useQuery<T>(path: string): Query<T> {
  const { api, reconnects } = useAppContext()
  const [attempt, setAttempt] = useState(0)
  const [result, setResult] = useState<{ path: string; value?: T; error?: ApiError }>({ path })
  useEffect(() => {
    const abort = new AbortController()
    const fail = (error: ApiError) => {
      if (!abort.signal.aborted) setResult((old) => ({ ...(old.path === path ? old : { path }), error }))
    }
    api.get<T>(path, abort.signal).then((value) => setResult({ path, value }), fail)
    return () => abort.abort()
  }, [api, path, attempt, reconnects])
  const reload = useCallback(() => setAttempt((count) => count + 1), [])
  const { value, error } = result.path === path ? result : {}
  return { value, error, reload }
}

/**
 * Loads again so long after each answer, while it is on: by the clock it would break off a request that takes longer. After a failure,
 * the note that shows it loads again.
 */
export function useReloads({ value, error, reload }: Query<unknown>, pauseMs: number, isOn = true): void {
  const isAnswered = value !== undefined && error === undefined
  useEffect(() => {
    if (!isOn || !isAnswered) return
    const timer = setTimeout(reload, pauseMs)
    return () => clearTimeout(timer)
  }, [value, isAnswered, reload, pauseMs, isOn])
}
