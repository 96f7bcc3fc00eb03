import { useCallback, useRef, useState } from 'preact/hooks'
import { ApiError } from './api-client.ts'

/** A request that changes something: one at a time, with its error. */
export type Mutation<Args extends unknown[]> = {
  readonly run: (...args: Args) => Promise<void>
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  readonly clear: () => void
}

function toShownError(thrown: unknown): ApiError {
  if (!(thrown instanceof ApiError)) return new ApiError(0, 'page', 'Internal error of the page. Reload it.')
  const { status, code, message } = thrown
  return code === 'audit_unavailable'
    ? new ApiError(
        status,
        code,
        `${message} If this was a change, check whether it was made before you try again.`,
      )
    : thrown
}

export function useMutation<Args extends unknown[]>(work: (...args: Args) => Promise<void>): Mutation<Args> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError>()
  const latest = useRef(work)
  latest.current = work
  // A second click can come before the button is drawn as disabled.
  const isRunning = useRef(false)
  const run = useCallback(async (...args: Args) => {
    if (isRunning.current) return
    isRunning.current = true
    setBusy(true)
    setError(undefined)
    try {
      await latest.current(...args)
    } catch (thrown) {
      setError(toShownError(thrown))
    } finally {
      isRunning.current = false
      setBusy(false)
    }
  }, [])
  const clear = useCallback(() => setError(undefined), [])
  return { run, isBusy, error, clear }
}
