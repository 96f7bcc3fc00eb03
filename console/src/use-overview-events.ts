import { useEffect, useState } from 'preact/hooks'
import type { Overview } from '../../src/admin/overview-figures.ts'
import { useAppContext } from './app-context.ts'
import { type OverviewFilters, toOverviewQuery } from './overview-filters.ts'
import { type Query, useQuery } from './use-query.ts'

export type OverviewEvents = Query<Overview> & { readonly state: 'connecting' | 'live' | 'broken' }

/** The overview: loaded once, then updated by server-sent events. */
export function useOverviewEvents(filters: OverviewFilters): OverviewEvents {
  const { recheckSession, checkConnection, reconnects } = useAppContext()
  const query = toOverviewQuery(filters)
  const first = useQuery<Overview>(`/admin/overview?${query}`)
  const [latest, setLatest] = useState<{ query: string; value: Overview }>()
  const [state, setState] = useState<OverviewEvents['state']>('connecting')
  useEffect(() => {
    setState('connecting')
    const events = new EventSource(`/admin/overview/events?${query}`)
    events.addEventListener('open', () => setState('live'))
    events.addEventListener('overview', ({ data }) =>
      setLatest({ query, value: JSON.parse(data) as Overview }),
    )
    events.addEventListener('signed_out', () => {
      events.close()
      recheckSession()
    })
    events.addEventListener('error', () => {
      setState('broken')
      // The browser does not retry a refused stream and hides the reason: the session may have ended.
      if (events.readyState === EventSource.CLOSED) recheckSession()
      else checkConnection()
    })
    return () => events.close()
  }, [query, recheckSession, checkConnection, reconnects])
  return { ...first, value: latest?.query === query ? latest.value : first.value, state }
}
