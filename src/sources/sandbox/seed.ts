import { hash } from 'node:crypto'

/** An endless row of values that depend on its topic alone: no clock, no chance, no state outside of it. */
export type Seed = {
  /** A whole number, both ends included. */
  readonly between: (low: number, high: number) => number
  readonly pick: <T>(items: readonly T[]) => T
  readonly chance: (percent: number) => boolean
  /** Nine digits at most: more do not fit into the 32 bits of one value. */
  readonly digits: (count: number) => string
}

/**
 * Every part of a person has a seed of its own, for example ('nin', '12345678901', 'name'), so that a field added
 * to one part later does not turn everybody into somebody else.
 */
export function createSeed(kind: string, number: string, part: string): Seed {
  let block = ''
  let offset = 0
  let blocks = 0
  /** Four bytes of a hash, the first one highest. */
  const next = () => {
    if (offset === block.length) {
      block = hash('sha512', `${kind}:${number}:${part}:${blocks}`, 'binary')
      offset = 0
      blocks += 1
    }
    offset += 4
    const at = (back: number) => block.charCodeAt(offset - back)
    return ((at(4) << 24) | (at(3) << 16) | (at(2) << 8) | at(1)) >>> 0
  }
  // Both as whole numbers without a sign: as fractions, the remainder would cost more than all the rest.
  const between = (low: number, high: number) => low + (next() % ((high - low + 1) >>> 0))
  return {
    between,
    pick: <T>(items: readonly T[]) => items[between(0, items.length - 1)] as T,
    chance: (percent) => between(1, 100) <= percent,
    digits: (count) => String(between(0, 10 ** count - 1)).padStart(count, '0'),
  }
}
