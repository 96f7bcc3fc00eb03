/** The requests that may wait for someone else: a vendor, the answer of a pending verification, the rest of a body. */
export type Waiting = {
  /** False when too many wait. */
  readonly reserve: (keyId: string) => boolean
  readonly release: (keyId: string) => void
}

/**
 * A key may have as many as are free: one key alone has half of all, two a third each. So some are free for another key, however
 * many keys wait.
 */
export function createWaiting(max: number): Waiting {
  const byKey = new Map<string, number>()
  let total = 0
  return {
    reserve: (keyId) => {
      const count = byKey.get(keyId) ?? 0
      if (count >= max - total) return false
      byKey.set(keyId, count + 1)
      total += 1
      return true
    },
    release: (keyId) => {
      const count = (byKey.get(keyId) ?? 1) - 1
      if (count > 0) byKey.set(keyId, count)
      else byKey.delete(keyId)
      total -= 1
    },
  }
}
