import { useLayoutEffect, useState } from 'preact/hooks'
import { toHash } from './hash.ts'

/** `#/page/rest?filter=value` */
export type Route = { readonly page: string; readonly rest: string; readonly filters: URLSearchParams }

/** `/console/keys` becomes `/console#/keys`: the hash names the page. */
export function movePathToHash(): void {
  const path = /^\/console\/(.+)$/.exec(location.pathname)?.[1]
  if (path) history.replaceState(null, '', `/console#/${path.replaceAll('/', '%2F')}`)
}

function readRoute(): Route {
  const [path = '', ...query] = location.hash.replace(/^#\/?/, '').split('?')
  const [page = '', rest = ''] = path.split('/', 2)
  // The token must not stay in the address bar or the history.
  if (page === 'invite' && rest !== '') history.replaceState(null, '', toHash('invite'))
  const filters = new URLSearchParams(query.join('?'))
  return { page: page === '' ? 'overview' : decode(page), rest: decode(rest), filters }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute)
  // An effect after the paint would miss a change that comes before it.
  useLayoutEffect(() => {
    const onChange = () => setRoute(readRoute())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return route
}

export type FilterChanges = Readonly<Record<string, string | undefined>>

/** The filters in the address, which can be shared. A change adds no entry to the history; undefined or '' removes a filter. */
export function useFilters(): readonly [URLSearchParams, (changes: FilterChanges) => void] {
  const { page, rest, filters } = useRoute()
  const change = (changes: FilterChanges) => {
    const next = new URLSearchParams(filters)
    for (const [name, value] of Object.entries(changes))
      if (value) next.set(name, value)
      else next.delete(name)
    location.replace(toHash(page, rest) + (next.size > 0 ? `?${next}` : ''))
  }
  return [filters, change]
}
