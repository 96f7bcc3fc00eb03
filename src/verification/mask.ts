/** A fixed run, so that its length tells nothing. */
export const HIDDEN = '****'

type Masked = { [field: string]: unknown }

/** A copy of the record in which the fields with these dotted names are hidden. Empty stays empty: nothing is known. */
export function mask<T extends object>(record: T, hidden: readonly string[]): T {
  const copy = { ...record } as Masked
  const copied = new Set<string>()
  for (const path of hidden) {
    const [name = '', inner] = path.split('.')
    const value = copy[name]
    if (value === undefined) continue
    if (inner === undefined) {
      copy[name] = hide(value)
      continue
    }
    if (!copied.has(name)) copy[name] = { ...(value as Masked) }
    copied.add(name)
    const group = copy[name] as Masked
    if (inner in group) group[inner] = hide(group[inner])
  }
  return copy as T
}

const hide = (value: unknown) => (value === null || value === '' ? value : HIDDEN)
