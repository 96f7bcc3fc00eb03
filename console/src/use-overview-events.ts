import { useState } from 'preact/hooks'
import type { Overview } from '../../src/admin/overview-figures.ts'
import { type StreamState, useEventStream } from './use-event-stream.ts'
import { type Query, useQuery } from './use-query.ts'

export type OverviewEvents = Query<Overview> & { readonly state: StreamState }

/** The overview: loaded once, then updated by server-sent events. */
export function useOverviewEvents(filters: OverviewFilters): OverviewEvents {
  const query = toOverviewQuery(filters)
  const first = useQuery<Overview>(`/admin/overview?${query}`)
  const [latest, setLatest] = useState<{ query: string; value: Overview }>()
  const state = useEventStream(`/admin/overview/events?${query}`, 'overview', (data) =>
    setLatest({ query, value: JSON.parse(data) as Overview }),
  )
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
