import { useEffect, useState } from 'preact/hooks'

export type Route = { readonly page: string; readonly rest: string }

export const toHash = (page: string, rest = '') =>
  `#/${page}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}`

const KEY = 'key='

/** `#/audit/key=ID` searches the audit log for one key. */
export const toKeySearch = (id: string) => `${KEY}${id}`
export const findKeySearch = (rest: string) => (rest.startsWith(KEY) ? rest.slice(KEY.length) : undefined)

function readRoute(): Route {
  const [page = '', rest = ''] = location.hash.replace(/^#\/?/, '').split('/', 2)
  // The token must not stay in the address bar or the history.
  if (page === 'invite' && rest !== '') history.replaceState(null, '', toHash('invite'))
  return { page: page === '' ? 'overview' : page, rest: decode(rest) }
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
  useEffect(() => {
    const onChange = () => setRoute(readRoute())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return route
}
