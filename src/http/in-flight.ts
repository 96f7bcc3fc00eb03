/** The requests in flight: in all, and of each key. */
type InFlight = {
  readonly count: () => number
  /** False when a limit is reached. */
  readonly acquire: (keyId: string) => boolean
  readonly release: (keyId: string) => void
}

export type InFlightLimits = { readonly all: number; readonly perKey: number }

/** Above this, keys without a request in flight are dropped from the map. */
const MAX_KEYS = 10_000

export function createInFlight({ all, perKey }: InFlightLimits): InFlight {
  const byKey = new Map<string, number>()
  let total = 0
  const dropIdleKeys = () => {
    for (const [keyId, count] of byKey) if (count === 0) byKey.delete(keyId)
  }
  return {
    count: () => total,
    acquire: (keyId) => {
      const count = byKey.get(keyId) ?? 0
      if (total >= all || count >= perKey) return false
      if (byKey.size >= MAX_KEYS) dropIdleKeys()
      total += 1
      byKey.set(keyId, count + 1)
      return true
    },
    release: (keyId) => {
      total -= 1
      byKey.set(keyId, (byKey.get(keyId) ?? 1) - 1)
    },
  }
}
