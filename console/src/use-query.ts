import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ApiError } from './api-client.ts'
import { useAppContext } from './app-context.ts'

/** What a GET has answered so far. An old value stays while a new one is on its way. */
export type Query<T> = {
  readonly value: T | undefined
  readonly error: ApiError | undefined
  readonly reload: () => void
}

export function useQuery<T>(path: string): Query<T> {
  const { api, returns } = useAppContext()
  const [turn, setTurn] = useState(0)
  const [kept, setKept] = useState<{ path: string; value?: T; error?: ApiError }>({ path })
  useEffect(() => {
    const given = new AbortController()
    const fail = (error: ApiError) => {
      if (!given.signal.aborted) setKept((old) => ({ ...(old.path === path ? old : { path }), error }))
    }
    api.get<T>(path, given.signal).then((value) => setKept({ path, value }), fail)
    return () => given.abort()
  }, [api, path, turn, returns])
  const reload = useCallback(() => setTurn((count) => count + 1), [])
  const isOfThis = kept.path === path
  return { value: isOfThis ? kept.value : undefined, error: isOfThis ? kept.error : undefined, reload }
}
