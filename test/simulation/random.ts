/** Numbers that one seed decides. */
export type Random = {
  /** From 0 to 1, without 1. */
  readonly next: () => number
  /** A whole number below `end`. */
  readonly below: (end: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <T>(list: readonly T[]) => T
  readonly between: (least: number, most: number) => number
  readonly fill: (bytes: Uint8Array) => void
}

/** The generator sfc32, started from a seed and a name: two names give two sequences that have nothing to do with each other. */
export function createRandom(seed: number, name: string): Random {
  let [a, b, c, counter] = [toHash(`${name}:${seed}`), toHash(`${seed}:${name}`), seed | 0, 1]
  const nextInteger = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return sum >>> 0
  }
  for (let turn = 0; turn < 16; turn++) nextInteger()
  const next = () => nextInteger() / 2 ** 32
  const below = (end: number) => Math.floor(next() * end)
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    between: (least, most) => least + next() * (most - least),
    fill: (bytes) => {
      for (let at = 0; at < bytes.length; at++) bytes[at] = nextInteger() & 255
    },
  }
}

/** FNV-1a. */
function toHash(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash | 0
}
