/** The requests under way, of all keys and of each. */
export type Places = {
  readonly underWay: () => number
  /** Whether a place was free, and is taken now. */
  readonly take: (keyId: string) => boolean
  readonly leave: (keyId: string) => void
}

export type InFlightLimits = { readonly all: number; readonly perKey: number }

/** Above this, keys without a request under way are forgotten. */
const MOST_KEYS = 10_000

export function createPlaces({ all, perKey }: InFlightLimits): Places {
  const byKey = new Map<string, number>()
  let underWay = 0
  const forget = () => {
    for (const [keyId, count] of byKey) if (count === 0) byKey.delete(keyId)
  }
  return {
    underWay: () => underWay,
    take: (keyId) => {
      const count = byKey.get(keyId) ?? 0
      if (underWay >= all || count >= perKey) return false
      if (byKey.size >= MOST_KEYS) forget()
      underWay += 1
      byKey.set(keyId, count + 1)
      return true
    },
    leave: (keyId) => {
      underWay -= 1
      byKey.set(keyId, (byKey.get(keyId) ?? 1) - 1)
    },
  }
}
