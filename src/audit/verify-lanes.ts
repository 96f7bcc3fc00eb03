import {
  assembleLanes,
  CONSTANTS_AT,
  GROUP_BYTES,
  HASHES_IN_GROUP,
  OTHER_CONSTANTS,
} from './verify-lanes-code.ts'

/**
 * Computes the Merkle tree over many row hashes, four at once. One hash of a leaf or a node costs more as a call of
 * node:crypto than to compute.
 */
export type Lanes = {
  /** Takes the row hash at this place, as the next leaf. */
  readonly put: (page: DataView, at: number) => void
  /** How many were put since the last `take`. */
  readonly count: () => number
  /** The row hash that was put at this index, as text of one character for each byte. */
  readonly read: (index: number) => string
  /** After LEAVES_AT_ONCE: the roots of four equal parts. */
  readonly take: () => readonly string[]
  readonly clear: () => void
}

export const LEAVES_AT_ONCE = 256
const GROUPS_AT = 2048
const WORDS_IN_HASH = 8

/** The part of the global object that is used here. The types of Node.js lack it. */
declare const WebAssembly:
  | {
      readonly validate: (code: Uint8Array) => boolean
      readonly Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer }
      readonly Module: new (code: Uint8Array) => object
      readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
    }
  | undefined

type Exports = Record<'leaves' | 'nodes', (from: number, to: number, groups: number) => void>

/** Undefined where this machine has no vectors of 128 bits, or Node.js runs without a compiler. */
export function createLanes(): Lanes | undefined {
  const code = assembleLanes()
  if (typeof WebAssembly === 'undefined' || !WebAssembly.validate(code)) return undefined
  const memory = new WebAssembly.Memory({ initial: 1 })
  writeConstants(new Int32Array(memory.buffer, CONSTANTS_AT))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code), { env: { memory } })
  const { leaves, nodes } = exports as Exports
  const words = new Int32Array(memory.buffer, GROUPS_AT)
  const bytes = Buffer.alloc(WORDS_IN_HASH * 4)
  let count = 0
  const toPlace = (index: number) =>
    Math.floor(index / HASHES_IN_GROUP) * (GROUP_BYTES / 4) + (index % HASHES_IN_GROUP)
  const read = (index: number) => {
    const place = toPlace(index)
    for (let word = 0; word < WORDS_IN_HASH; word++)
      bytes.writeInt32BE(words[place + word * HASHES_IN_GROUP] as number, word * 4)
    return bytes.toString('latin1')
  }
  return {
    put: (page, at) => {
      const place = toPlace(count++)
      for (let word = 0; word < WORDS_IN_HASH; word++)
        words[place + word * HASHES_IN_GROUP] = page.getInt32(at + word * 4)
    },
    count: () => count,
    read,
    take: () => {
      let groups = LEAVES_AT_ONCE / HASHES_IN_GROUP
      leaves(GROUPS_AT, GROUPS_AT, groups)
      for (groups /= 2; groups >= 1; groups /= 2) nodes(GROUPS_AT, GROUPS_AT, groups)
      count = 0
      return [0, 1, 2, 3].map(read)
    },
    clear: () => {
      count = 0
    },
  }
}

/** Each one stands in all lanes. */
function writeConstants(words: Int32Array): void {
  const primes = listPrimes(64)
  const rounds = primes.map((prime) => toFraction(prime, 3n))
  const initial = primes.slice(0, WORDS_IN_HASH).map((prime) => toFraction(prime, 2n))
  for (const [index, value] of [...rounds, ...initial, ...OTHER_CONSTANTS].entries())
    words.fill(value, index * HASHES_IN_GROUP, (index + 1) * HASHES_IN_GROUP)
}

function listPrimes(count: number): number[] {
  const primes: number[] = []
  for (let next = 2; primes.length < count; next++)
    if (primes.every((prime) => next % prime !== 0)) primes.push(next)
  return primes
}

/** The first 32 bits of the fraction of a root: of the square root (2) or of the cube root (3). */
function toFraction(value: number, degree: bigint): number {
  const power = BigInt(value) << (32n * degree)
  let root = 0n
  for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) if ((root + bit) ** degree <= power) root += bit
  return Number(root & 0xffffffffn)
}
