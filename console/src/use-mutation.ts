import { useCallback, useRef, useState } from 'preact/hooks'
import { ApiError } from './api-client.ts'

/** Something that changes something: once at a time, with what went wrong. */
export type Mutation<Args extends unknown[]> = {
  readonly run: (...args: Args) => Promise<void>
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  readonly clear: () => void
}

export function useMutation<Args extends unknown[]>(work: (...args: Args) => Promise<void>): Mutation<Args> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const latest = useRef(work)
  latest.current = work
  // A second click comes before the button has been drawn as disabled.
  const isUnderWay = useRef(false)
  const run = useCallback(async (...args: Args) => {
    if (isUnderWay.current) return
    isUnderWay.current = true
    setBusy(true)
    setError(undefined)
    try {
      await latest.current(...args)
    } catch (thrown) {
      setError(
        thrown instanceof ApiError ? thrown : new ApiError(0, 'page', 'The page failed. Load it again.'),
      )
    } finally {
      isUnderWay.current = false
      setBusy(false)
    }
  }, [])
  const clear = useCallback(() => setError(undefined), [])
  return { run, isBusy, error, clear }
}
