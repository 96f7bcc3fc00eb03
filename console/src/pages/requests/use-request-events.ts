import { useEffect, useState } from 'preact/hooks'
import type { RequestView } from '../../../../src/admin/requests.ts'
import { useAppContext } from '../../app-context.ts'

type RequestEvents = {
  readonly state: 'connecting' | 'live' | 'broken'
  /** Newest first. */
  readonly rows: readonly RequestView[]
  /** There were more than are shown. */
  readonly isCut: boolean
}

type Message = { readonly rows: readonly RequestView[]; readonly is_cut: boolean }

/** So many rows stay on the page. */
const MOST_ROWS = 500
const NONE: RequestEvents = { state: 'connecting', rows: [], isCut: false }

/** New requests that match a query, while `isOn`. */
export function useRequestEvents(query: string, isOn: boolean): RequestEvents {
  const { recheckSession, checkConnection, reconnects } = useAppContext()
  const [events, setEvents] = useState(NONE)
  useEffect(() => {
    setEvents(NONE)
    if (!isOn) return
    const source = new EventSource(`/admin/requests/events?${query}`)
    const setState = (state: RequestEvents['state']) => setEvents((old) => ({ ...old, state }))
    source.addEventListener('open', () => setState('live'))
    source.addEventListener('requests', ({ data }) => {
      const { rows, is_cut: isCut } = JSON.parse(data) as Message
      setEvents((old) => ({
        state: 'live',
        rows: [...rows.toReversed(), ...old.rows].slice(0, MOST_ROWS),
        isCut,
      }))
    })
    source.addEventListener('signed_out', () => {
      source.close()
      recheckSession()
    })
    source.addEventListener('error', () => {
      setState('broken')
      // The browser does not retry a refused stream and hides the reason: the session may have ended.
      if (source.readyState === EventSource.CLOSED) recheckSession()
      else checkConnection()
    })
    return () => source.close()
  }, [query, isOn, recheckSession, checkConnection, reconnects])
  return events
}
