import { useEffect, useState } from 'preact/hooks'
import type { Overview } from '../../src/admin/overview-figures.ts'
import { useAppContext } from './app-context.ts'
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

/** What the overview shows. `from` and `to` are ISO times; with `from`, `range` does not count. */
export type OverviewFilters = {
  readonly range: Exclude<Overview['range'], 'custom'>
  readonly mode: Overview['mode']
  readonly from?: string
  readonly to?: string
}

const RANGES = ['hour', 'day', 'week', 'month'] as const
export const MODES = [
  { value: 'live', text: 'Live' },
  { value: 'test', text: 'Test' },
  { value: 'all', text: 'All' },
] as const

/** Live traffic of the last day, unless the address says otherwise. */
export function readOverviewFilters(address: URLSearchParams): OverviewFilters {
  const [from, to] = [address.get('from'), address.get('to')]
  return {
    range: RANGES.find((range) => range === address.get('range')) ?? 'day',
    mode: MODES.find(({ value }) => value === address.get('mode'))?.value ?? 'live',
    ...(from ? { from, ...(to ? { to } : {}) } : {}),
  }
}

export const toOverviewQuery = (filters: OverviewFilters): string => String(new URLSearchParams(filters))
