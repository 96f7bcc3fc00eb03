type BoundedMap<K, V> = {
  readonly get: (key: K) => V | undefined
  readonly set: (key: K, value: V) => void
  readonly delete: (key: K) => void
  readonly size: () => number
}

/**
 * A map of at most `maxEntries` entries. It has two generations: when the young one is full it replaces the old one, and
 * entries that were not used since the last replacement are dropped. Entries in use stay.
 */
export function createBoundedMap<K, V>(maxEntries: number): BoundedMap<K, V> {
  const half = Math.max(1, Math.floor(maxEntries / 2))
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
