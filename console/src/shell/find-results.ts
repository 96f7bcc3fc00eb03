import { toHash } from '../hash.ts'

type SearchResult = { readonly title: string; readonly note: string; readonly href: string }

/** What can be found by name. */
type Searchable = {
  readonly pages: readonly { readonly name: string; readonly title: string }[]
  readonly keys: readonly { readonly id: string; readonly name: string }[]
}

const REFERENCE = /\bver_[0-9a-z]{36}\b/
/** The public id is the first part of a key. The rest is secret and is not used. */
const API_KEY = /\btbt_(?:live|test)_([0-9A-Za-z]{8})/
/** Our own ids, and UUIDs of callers. Anything else may be a number of a person. */
const REQUEST_ID = /^(?:req_[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/i
/** A NIN, BVN or phone, with or without spaces. */
const NUMBER = /^\+?[\d\s().-]{10,}$/
const MAX_RESULTS = 8

/** Results for a text, best first. It is compared in the browser only. */
export function findResults(typed: string, { pages, keys }: Searchable): SearchResult[] {
  const text = typed.trim()
  if (text === '') return []
  if (NUMBER.test(text))
    return [
      {
        title: 'Search for a person',
        note: 'a number is entered on the audit page, so that it is in no address',
        href: toHash('audit'),
      },
    ]
  const [reference] = REFERENCE.exec(text) ?? []
  if (reference)
    return [{ title: reference, note: 'timeline of a verification', href: toHash('audit', reference) }]
  const small = text.toLowerCase()
  const [, keyId] = API_KEY.exec(text) ?? []
  const isKey = ({ id, name }: Searchable['keys'][number]) =>
    keyId ? id === keyId : name.toLowerCase().includes(small) || id.toLowerCase().startsWith(small)
  const results = [
    ...pages
      .filter(({ title }) => title.toLowerCase().includes(small))
      .map(({ name, title }) => ({ title, note: 'page', href: toHash(name) })),
    ...keys.filter(isKey).map(({ id, name }) => ({
      title: name,
      note: `key ${id}`,
      href: toHash('keys', id),
    })),
  ]
  const hasRequests = pages.some(({ name }) => name === 'requests')
  if (hasRequests && REQUEST_ID.test(text))
    results.push({
      title: text,
      note: 'request',
      href: toHash('requests', text),
    })
  return results.slice(0, MAX_RESULTS)
}
