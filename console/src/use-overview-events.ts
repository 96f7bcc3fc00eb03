import { useEffect, useState } from 'preact/hooks'
import type { Overview } from '../../src/admin/shapes/overview.ts'
import { useAppContext } from './app-context.ts'
import { type Query, useQuery } from './use-query.ts'

export type OverviewEvents = Query<Overview> & { readonly state: 'connecting' | 'live' | 'broken' }

/** Asked for once, then told by the server whenever it changes. */
export function useOverviewEvents(range: Overview['range'], mode: Overview['mode']): OverviewEvents {
  const { recheck, suspect, returns } = useAppContext()
  const query = `range=${range}&mode=${mode}`
  const first = useQuery<Overview>(`/admin/overview?${query}`)
  const [told, setTold] = useState<{ query: string; value: Overview }>()
  const [state, setState] = useState<OverviewEvents['state']>('connecting')
  useEffect(() => {
    setState('connecting')
    const events = new EventSource(`/admin/overview/events?${query}`)
    events.addEventListener('open', () => setState('live'))
    events.addEventListener('overview', ({ data }) => setTold({ query, value: JSON.parse(data) as Overview }))
    events.addEventListener('signed_out', () => {
      events.close()
      recheck()
    })
    events.addEventListener('error', () => {
      setState('broken')
      // A stream that was refused is not tried again by the browser; the reason is in the answer to a question.
      if (events.readyState === EventSource.CLOSED) recheck()
      else suspect()
    })
    return () => events.close()
  }, [query, recheck, suspect, returns])
  return { ...first, value: told?.query === query ? told.value : first.value, state }
}
