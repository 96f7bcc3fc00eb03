export type BoundedMap<K, V> = {
  readonly get: (key: K) => V | undefined
  readonly set: (key: K, value: V) => void
  readonly delete: (key: K) => void
  readonly size: () => number
}

/**
 * A map of at most `most` entries. It has two generations: when the young one is full it becomes the old one, and what was
 * not used since the last change of generations is dropped. Nothing that is in use is ever dropped all at once.
 */
export function createBoundedMap<K, V>(most: number): BoundedMap<K, V> {
  const half = Math.max(1, Math.floor(most / 2))
  let young = new Map<K, V>()
  let old = new Map<K, V>()
  const set = (key: K, value: V) => {
    if (young.size >= half && !young.has(key)) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  return {
    get: (key) => {
      const known = young.get(key)
      if (known !== undefined) return known
      const before = old.get(key)
      if (before !== undefined) set(key, before)
      return before
    },
    set,
    delete: (key) => {
      young.delete(key)
      old.delete(key)
    },
    size: () => young.size + old.size,
  }
}
