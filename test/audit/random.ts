/** A random generator with a seed: the same seed gives the same numbers (mulberry32). */
export type Random = {
  /** An integer from 0 to below the limit. */
  readonly below: (limit: number) => number
  readonly pick: <T>(from: readonly T[]) => T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { below, pick: (from) => from[below(from.length)] as (typeof from)[number] }
}
