import { MINUTE_MS } from '../../contract/time.ts'
import type { QueueClass } from '../../ledger/queue-rows.ts'
import type { SourceAttempt } from '../../sources/search.ts'
import type { Sources } from '../../sources/source-chain.ts'

/** How long a source that reached its spend cap is taken to be at it. */
const CAPPED_MS = MINUTE_MS

/** Which classes of verifications can be answered now: no attempt is made that no source could answer. */
type Availability = {
  /** How many attempts may begin now: 0 while no source may be called, 1 to probe one that was down. */
  readonly most: (wanted: Pick<QueueClass, 'mode' | 'operation'>) => number
  /** Learns from an attempt which sources are at their spend caps. */
  readonly learn: (sourceAttempts: readonly SourceAttempt[]) => void
}

export function createAvailability(
  sources: Sources,
  now: () => number = () => performance.now(),
): Availability {
  const cappedUntil = new Map<string, number>()
  return {
    most: ({ mode, operation }) => {
      const chain = sources[mode][operation === 'verify_nin' ? 'nin' : 'bvn']
      const guards = chain.flatMap(({ guard }) => guard ?? [])
      // Sources inside this process are always available.
      if (guards.length === 0) return Number.POSITIVE_INFINITY
      const callable = guards.filter(
        (guard) => guard.isAvailable() && (cappedUntil.get(guard.name) ?? 0) <= now(),
      )
      if (callable.length === 0) return 0
      return callable.some((guard) => guard.read().state === 'closed') ? Number.POSITIVE_INFINITY : 1
    },
    learn: (sourceAttempts) => {
      for (const { name, result } of sourceAttempts)
        if (result === 'spend_cap') cappedUntil.set(name, now() + CAPPED_MS)
        else if (result === 'found' || result === 'not_found') cappedUntil.delete(name)
    },
  }
}
