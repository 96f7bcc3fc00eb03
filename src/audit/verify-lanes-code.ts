/**
 * Assembles a WebAssembly module that computes SHA-256 (FIPS 180-4) of four messages at once, one in each lane of a vector. The
 * messages are those of a Merkle tree: one byte and one hash (a leaf), or one byte and two hashes (a node). Written here and not
 * compiled from another language: so no tool is needed to build it, and the code can be read.
 */

/** Each constant stands four times, once for each lane: those of the 64 rounds, the initial hash, and those below. */
export const CONSTANTS_AT = 0
const INITIAL = 64
const ZERO = 72
const LEAF_BITS = 73
const NODE_BITS = 74
const NODE_MARK = 75
const END_MARK = 76
export const OTHER_CONSTANTS = [0, 33 * 8, 65 * 8, 0x01000000, 0x00800000] as const

/** A group is four hashes: the first words of the four, their second words, and so on. */
export const HASHES_IN_GROUP = 4
export const GROUP_BYTES = HASHES_IN_GROUP * 32

type Code = readonly (number | Code)[]

const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]
/** For values that are not negative. */
const signed = (value: number): number[] =>
  value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)]
const simd = (operation: number): Code => [0xfd, unsigned(operation)]
const number = (value: number): Code => [0x41, signed(value)]
const get = (local: number): Code => [0x20, unsigned(local)]
const set = (local: number, value: Code): Code => [value, 0x21, unsigned(local)]
const tee = (local: number, value: Code): Code => [value, 0x22, unsigned(local)]
const load = (base: Code, offset: number): Code => [base, simd(0x00), 4, unsigned(offset)]
const store = (base: Code, offset: number, value: Code): Code => [
  base,
  value,
  simd(0x0b),
  4,
  unsigned(offset),
]
const join =
  (operation: number) =>
  (first: Code, ...others: readonly Code[]): Code =>
    others.reduce((before, other) => [before, other, simd(operation)], first)
const and = join(0x4e)
const or = join(0x50)
const xor = join(0x51)
const add = join(0xae)
const shiftLeft = (value: Code, bits: number): Code => [value, number(bits), simd(0xab)]
const shiftRight = (value: Code, bits: number): Code => [value, number(bits), simd(0xad)]
const rotate = (value: Code, bits: number) => or(shiftRight(value, bits), shiftLeft(value, 32 - bits))
/** Four lanes out of two vectors: 0 to 3 are those of the first, 4 to 7 those of the second. */
const pick = (first: Code, second: Code, lanes: readonly number[]): Code => [
  [first, second, simd(0x0d)],
  lanes.flatMap((lane) => [0, 1, 2, 3].map((byte) => lane * 4 + byte)),
]

/** Parameters of a function: where groups are read, where they are written, and how many are written. */
const FROM = 0
const TO = 1
const COUNT = 2
/** Vectors. */
const WORDS = 3
const STATE = WORDS + 16
const HASH = STATE + 8
const SUM = HASH + 8
const SECOND_BLOCK = SUM + 1
const DIFFERENCES = [SECOND_BLOCK + 1, SECOND_BLOCK + 2] as const
const VECTORS = SECOND_BLOCK + 3 - WORDS

const times = (count: number, make: (index: number) => Code): Code =>
  Array.from({ length: count }, (_, index) => make(index))
const constant = (index: number) => load(number(0), CONSTANTS_AT + index * 16)
const word = (index: number) => WORDS + (index % 16)

const extend = (round: number): Code => {
  const early = get(word(round - 15))
  const late = get(word(round - 2))
  const low = xor(rotate(early, 7), rotate(early, 18), shiftRight(early, 3))
  const high = xor(rotate(late, 17), rotate(late, 19), shiftRight(late, 10))
  return set(word(round), add(get(word(round)), low, get(word(round - 7)), high))
}

/** One round. Instead of moving the eight words of the state on, the next round gives them other names. */
function toRound(round: number): Code {
  const [a, b, c, d, e, f, g, h] = Array.from(
    { length: 8 },
    (_, index) => STATE + ((index - round + 64) % 8),
  ) as [number, number, number, number, number, number, number, number]
  const [known, next] = round % 2 === 0 ? DIFFERENCES : [DIFFERENCES[1], DIFFERENCES[0]]
  const choice = xor(get(g), and(get(e), xor(get(f), get(g))))
  const mixedE = xor(rotate(get(e), 6), rotate(get(e), 11), rotate(get(e), 25))
  const mixedA = xor(rotate(get(a), 2), rotate(get(a), 13), rotate(get(a), 22))
  // b ^ c was a ^ b in the round before.
  const majority = xor(
    get(b),
    and(tee(next, xor(get(a), get(b))), round === 0 ? xor(get(b), get(c)) : get(known)),
  )
  return [
    round < 16 ? [] : extend(round),
    set(SUM, add(get(h), get(word(round)), constant(round), choice, mixedE)),
    set(d, add(get(d), get(SUM))),
    set(h, add(get(SUM), majority, mixedA)),
  ]
}

const compress = (): Code => [
  times(8, (index) => set(STATE + index, get(HASH + index))),
  times(64, toRound),
  times(8, (index) => set(HASH + index, add(get(HASH + index), get(STATE + index)))),
]

/** Moves the words on by one byte, for the byte before them. */
const shiftWords = (count: number, mark: Code): Code => [
  times(count - 1, (index) => {
    const at = count - 1 - index
    return set(word(at), or(shiftLeft(get(word(at - 1)), 24), shiftRight(get(word(at)), 8)))
  }),
  set(word(0), or(mark, shiftRight(get(word(0)), 8))),
]
const endOf = (last: number) => or(shiftLeft(get(word(last)), 24), constant(END_MARK))
const startHash = times(8, (index) => set(HASH + index, constant(INITIAL + index)))
const storeHash = times(8, (index) => store(get(TO), index * 16, get(HASH + index)))

const LEAVES: Code = [
  times(8, (index) => set(word(index), load(get(FROM), index * 16))),
  set(word(8), endOf(7)),
  shiftWords(8, constant(ZERO)),
  times(6, (index) => set(word(9 + index), constant(ZERO))),
  [set(word(15), constant(LEAF_BITS)), startHash, compress(), storeHash],
]

/** The left hashes are the even ones of two groups, the right hashes the odd ones. */
const NODES: Code = [
  times(16, (index) => {
    const at = (index % 8) * 16
    const lanes = index < 8 ? [0, 2, 4, 6] : [1, 3, 5, 7]
    return set(word(index), pick(load(get(FROM), at), load(get(FROM), at + GROUP_BYTES), lanes))
  }),
  set(SECOND_BLOCK, endOf(15)),
  [shiftWords(16, constant(NODE_MARK)), startHash, compress()],
  set(word(0), get(SECOND_BLOCK)),
  times(14, (index) => set(word(1 + index), constant(ZERO))),
  [set(word(15), constant(NODE_BITS)), compress(), storeHash],
]

const flatten = (code: Code): number[] =>
  code.flatMap((part) => (typeof part === 'number' ? part : flatten(part)))
const list = (items: readonly Code[]): Code => [unsigned(items.length), items]
const sized = (code: Code): Code => {
  const bytes = flatten(code)
  return [unsigned(bytes.length), bytes]
}
const advance = (local: number, by: number) => set(local, [get(local), number(by), 0x6a])
/** Repeats the body for each group. */
const toFunction = (body: Code, read: number): Code =>
  sized([
    list([[unsigned(VECTORS), 0x7b]]),
    [0x03, 0x40, body, advance(FROM, read), advance(TO, GROUP_BYTES)],
    [tee(COUNT, [get(COUNT), number(1), 0x6b]), 0x0d, 0, 0x0b, 0x0b],
  ])
const name = (text: string): Code => [text.length, [...Buffer.from(text)]]

/** The module: it imports its memory, and exports `leaves` and `nodes`. */
export function assembleLanes(): Uint8Array<ArrayBuffer> {
  const section = (id: number, items: readonly Code[]): Code => [id, sized(list(items))]
  return Uint8Array.from(
    flatten([
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [[0x60, list([[0x7f], [0x7f], [0x7f]]), 0]]),
      section(2, [[name('env'), name('memory'), 2, 0, 1]]),
      section(3, [[0], [0]]),
      section(7, [
        [name('leaves'), 0, 0],
        [name('nodes'), 0, 1],
      ]),
      section(10, [toFunction(LEAVES, GROUP_BYTES), toFunction(NODES, 2 * GROUP_BYTES)]),
    ]),
  )
}
