import { useCallback, useEffect, useState } from 'preact/hooks'
import type { AskError } from './ask.ts'
import { useDesk } from './desk.ts'

/** What a GET has answered so far. An old value stays while a new one is on its way. */
export type Answer<T> = {
  readonly value: T | undefined
  readonly error: AskError | undefined
  readonly reload: () => void
}

export function useAnswer<T>(path: string): Answer<T> {
  const { ask, returns } = useDesk()
  const [turn, setTurn] = useState(0)
  const [kept, setKept] = useState<{ path: string; value?: T; error?: AskError }>({ path })
  useEffect(() => {
    const given = new AbortController()
    const fail = (error: AskError) => {
      if (!given.signal.aborted) setKept((old) => ({ ...(old.path === path ? old : { path }), error }))
    }
    ask.get<T>(path, given.signal).then((value) => setKept({ path, value }), fail)
    return () => given.abort()
  }, [ask, path, turn, returns])
  const reload = useCallback(() => setTurn((count) => count + 1), [])
  const isOfThis = kept.path === path
  return { value: isOfThis ? kept.value : undefined, error: isOfThis ? kept.error : undefined, reload }
}
