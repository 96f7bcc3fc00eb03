import type { Overview } from '../../src/admin/overview-figures.ts'

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
