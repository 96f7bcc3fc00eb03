import { useCallback, useRef, useState } from 'preact/hooks'
import { AskError } from './ask.ts'

/** Something that changes something: once at a time, with what went wrong. */
export type Deed<Args extends unknown[]> = {
  readonly run: (...args: Args) => Promise<void>
  readonly isBusy: boolean
  readonly error: AskError | undefined
  readonly clear: () => void
}

export function useDeed<Args extends unknown[]>(work: (...args: Args) => Promise<void>): Deed<Args> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<AskError>()
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
        thrown instanceof AskError ? thrown : new AskError(0, 'page', 'The page failed. Load it again.'),
      )
    } finally {
      isUnderWay.current = false
      setBusy(false)
    }
  }, [])
  const clear = useCallback(() => setError(undefined), [])
  return { run, isBusy, error, clear }
}
