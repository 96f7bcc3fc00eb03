import { useEffect, useRef, useState } from 'preact/hooks'
import { useAppContext } from './app-context.ts'

export type StreamState = 'connecting' | 'live' | 'broken'

const FIRST_PAUSE_MS = 2000
const MAX_PAUSE_MS = 60_000

/**
 * Server-sent events of one kind; without a path, none. Browsers open a stream again that broke off, but not one that was refused, for
 * example with 503 while the database cannot be reached: then this does, with longer and longer pauses.
 */
export function useEventStream(
  path: string | undefined,
  kind: string,
  onData: (data: string) => void,
): StreamState {
  const { recheckSession, checkConnection, reconnects } = useAppContext()
  const [state, setState] = useState<StreamState>('connecting')
  const latest = useRef(onData)
  latest.current = onData
  useEffect(() => {
    setState('connecting')
    if (path === undefined) return
    let source: EventSource
    let timer: ReturnType<typeof setTimeout>
    let pauseMs = FIRST_PAUSE_MS
    const open = () => {
      source = new EventSource(path)
      source.addEventListener('open', () => {
        pauseMs = FIRST_PAUSE_MS
        setState('live')
      })
      source.addEventListener(kind, ({ data }: MessageEvent<string>) => latest.current(data))
      source.addEventListener('signed_out', () => {
        source.close()
        recheckSession()
      })
      source.addEventListener('error', () => {
        setState('broken')
        if (source.readyState !== EventSource.CLOSED) return checkConnection()
        // The browser hides the reason: the session may have ended.
        recheckSession()
        timer = setTimeout(open, pauseMs)
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)
      })
    }
    open()
    return () => {
      clearTimeout(timer)
      source.close()
    }
  }, [path, kind, recheckSession, checkConnection, reconnects])
  return state
}
