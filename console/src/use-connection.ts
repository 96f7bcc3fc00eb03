import { useCallback, useEffect, useState } from 'preact/hooks'

const PAUSE_MS = 2000

const isThere = () =>
  fetch('/health/live').then(
    ({ ok }) => ok,
    () => false,
  )

/** While the server is away it is asked every two seconds whether it is back. */
export function useConnection() {
  const [isAway, setAway] = useState(false)
  const [returns, setReturns] = useState(0)
  useEffect(() => {
    if (!isAway) return
    let timer: ReturnType<typeof setTimeout>
    const look = async () => {
      if (!(await isThere())) {
        timer = setTimeout(look, PAUSE_MS)
        return
      }
      setAway(false)
      setReturns((count) => count + 1)
    }
    timer = setTimeout(look, PAUSE_MS / 2)
    return () => clearTimeout(timer)
  }, [isAway])
  /** Something broke that does not say why. */
  const suspect = useCallback(() => {
    isThere().then((isThereStill) => isThereStill || setAway(true))
  }, [])
  return { isAway, returns, setAway, suspect }
}
