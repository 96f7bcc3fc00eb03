export const toHash = (page: string, rest = '') =>
  `#/${page}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}`

const KEY = 'key='

/** `#/audit/key=ID` searches the audit log for one key. */
export const toKeySearch = (id: string) => `${KEY}${id}`
export const findKeySearch = (rest: string) => (rest.startsWith(KEY) ? rest.slice(KEY.length) : undefined)
