/** A fixed run, so that its length tells nothing. */
export const HIDDEN = '****'

/** Dotted names of what is hidden unless a key was granted more. A name of an object covers all of it. */
export const HIDDEN_BY_DEFAULT = ['next_of_kin', 'indigene_info.place_of_origin'] as const

type Masked = { [field: string]: unknown }

/** A copy of the record in which the named fields are hidden. Empty stays empty: it says that nothing is known. */
export function mask<T extends object>(record: T, hidden: readonly string[] = HIDDEN_BY_DEFAULT): T {
  const copy = { ...record } as Masked
  for (const name of hidden) {
    const [field = '', inner] = name.split('.')
    const value = copy[field]
    if (value === undefined) continue
    copy[field] = inner === undefined ? hide(value) : hideInside(value as Masked, inner)
  }
  return copy as T
}

const hideInside = (object: Masked, inner: string) =>
  inner in object ? { ...object, [inner]: hide(object[inner]) } : object

function hide(value: unknown): unknown {
  if (value === null || value === '') return value
  if (typeof value !== 'object') return HIDDEN
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, hide(inner)]))
}
