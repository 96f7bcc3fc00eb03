import { useCallback, useEffect, useState } from 'preact/hooks'

const PAUSE_MS = 2000

const isReachable = () =>
  fetch('/health/live').then(
    ({ ok }) => ok,
    () => false,
  )

/** Whether the server can be reached. While it cannot, this checks every two seconds. */
export function useConnection() {
  const [isOffline, setOffline] = useState(false)
  const [reconnects, setReconnects] = useState(0)
  useEffect(() => {
    if (!isOffline) return
    let timer: ReturnType<typeof setTimeout>
    const poll = async () => {
      if (!(await isReachable())) {
        timer = setTimeout(poll, PAUSE_MS)
        return
      }
      setOffline(false)
      setReconnects((count) => count + 1)
    }
    timer = setTimeout(poll, PAUSE_MS / 2)
    return () => clearTimeout(timer)
  }, [isOffline])
  /** For errors that do not say whether the server is down. */
  const check = useCallback(() => {
    isReachable().then((isUp) => isUp || setOffline(true))
  }, [])
  return { isOffline, reconnects, setOffline, check }
}
