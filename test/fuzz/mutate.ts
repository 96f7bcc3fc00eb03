import type { Random } from '../audit/random.ts'

type MutateOptions = {
  readonly random: Random
  /** Other inputs, parts of which are put in. */
  readonly corpus: readonly Buffer[]
  readonly words: readonly string[]
}

type Change = (input: Buffer, options: MutateOptions) => Buffer

const MAX_BYTES = 64 * 1024
const MAX_CHANGES = 6

/** A changed copy of an input: bytes, pieces, words, numbers, lines, cells or the values of a JSON text. */
export function mutate(input: Buffer, options: MutateOptions): Buffer {
  const { random } = options
  let changed = input
  for (let left = 1 + random.below(MAX_CHANGES); left > 0; left--)
    changed = random.pick(CHANGES)(changed, options)
  return changed.subarray(0, MAX_BYTES)
}

const INTERESTING = [
  '',
  '0',
  '-1',
  '2147483648',
  '9007199254740993',
  '1e999',
  'null',
  'true',
  '\u0000',
  '\ufffd',
]
const ODD_BYTES = [0, 9, 10, 13, 0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xc3, 0xed, 0xff]

/** Replaces `length` bytes at a place. */
const splice = (input: Buffer, at: number, length: number, piece: Uint8Array) =>
  Buffer.concat([input.subarray(0, at), piece, input.subarray(at + length)])

const CHANGES: readonly Change[] = [
  function flipBit(input, { random }) {
    if (input.length === 0) return input
    const copy = Buffer.from(input)
    const at = random.below(copy.length)
    copy[at] = (copy[at] as number) ^ (1 << random.below(8))
    return copy
  },
  function setByte(input, { random }) {
    if (input.length === 0) return input
    const copy = Buffer.from(input)
    copy[random.below(copy.length)] = random.below(2) ? random.below(256) : random.pick(ODD_BYTES)
    return copy
  },
  function removePiece(input, { random }) {
    const at = random.below(input.length + 1)
    return splice(input, at, random.below(Math.min(64, input.length - at) + 1), Buffer.alloc(0))
  },
  function repeatPiece(input, { random }) {
    const at = random.below(input.length + 1)
    const piece = input.subarray(at, at + random.below(200))
    return splice(input, at, 0, Buffer.concat(Array<Buffer>(1 + random.below(4)).fill(piece)))
  },
  function cutOff(input, { random }) {
    return input.subarray(0, random.below(input.length + 1))
  },
  function takeFromOther(input, { random, corpus }) {
    const other = corpus.length > 0 ? random.pick(corpus) : input
    const from = random.below(other.length + 1)
    const piece = other.subarray(from, from + random.below(400))
    return splice(input, random.below(input.length + 1), random.below(64), piece)
  },
  function putWord(input, { random, words }) {
    const word = random.pick([...INTERESTING, ...words])
    return splice(
      input,
      random.below(input.length + 1),
      random.below(2) * random.below(16),
      Buffer.from(word),
    )
  },
  changeNumber,
  changeLines,
  changeLines,
  changeCells,
  changeJson,
  changeJson,
  changeJson,
]

/** One of the numbers in the text becomes another. */
function changeNumber(input: Buffer, { random }: MutateOptions): Buffer {
  const text = input.toString('latin1')
  const found = [...text.matchAll(/-?\d+/g)]
  const number = found[random.below(found.length || 1)]
  if (!number) return input
  const value = Number(number[0])
  const next = [value + 1, value - 1, -value, value * 10, 0, 2 ** 53][random.below(6)]
  return splice(input, number.index, number[0].length, Buffer.from(String(next)))
}

/** A line is removed, doubled, moved, emptied, or gets another line end. */
function changeLines(input: Buffer, { random }: MutateOptions): Buffer {
  const lines = input.toString('latin1').split('\n')
  const at = random.below(lines.length)
  const [line = ''] = lines.splice(at, 1)
  const back: readonly (readonly string[])[] = [
    [],
    [line, line],
    ['', line],
    [`${line}\r`],
    [`${line} `],
    [line],
  ]
  lines.splice(random.below(3) ? at : random.below(lines.length + 1), 0, ...random.pick(back))
  return Buffer.from(lines.join('\n'), 'latin1')
}

/** Cells of a line between commas. */
function changeCells(input: Buffer, { random, words }: MutateOptions): Buffer {
  const cells = input.toString('latin1').split(',')
  const at = random.below(cells.length)
  const cell = cells[at] ?? ''
  const next = [
    '',
    `"${cell}"`,
    `"${cell}`,
    `${cell}"`,
    cell.toUpperCase(),
    ` ${cell} `,
    `${cell}\n`,
    ...words,
  ]
  cells.splice(at, 1, ...random.pick([[random.pick(next)], [cell, cell], []]))
  return Buffer.from(cells.join(','), 'latin1')
}

/** In a JSON text, or in the first line of the input that is one: a member is replaced, removed, added, renamed or nested. */
function changeJson(input: Buffer, options: MutateOptions): Buffer {
  const text = input.toString()
  const lines = text.split('\n')
  const whole = parse(text)
  if (whole !== undefined) return Buffer.from(JSON.stringify(changeValue(whole, options)))
  const places = lines.flatMap((line, at) => (/^\s*[[{]/.test(line) ? [at] : []))
  const at = places[options.random.below(places.length || 1)]
  if (at === undefined) return input
  // An object over several lines, as after the head of a request.
  const rest = lines.slice(at).join('\n')
  const value = parse(lines[at] ?? '') ?? parse(rest)
  if (value === undefined) return input
  const changed = JSON.stringify(changeValue(value, options))
  const after = parse(lines[at] ?? '') === undefined ? [] : lines.slice(at + 1)
  return Buffer.from([...lines.slice(0, at), changed, ...after].join('\n'))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const DEEP = 200

function changeValue(value: unknown, options: MutateOptions): unknown {
  const { random, words } = options
  if (typeof value === 'object' && value !== null && random.below(4) > 0) {
    const entries = Object.entries(value)
    const entry = entries[random.below(entries.length || 1)]
    if (entry) {
      const changed = changeMember(entry, options)
      const all = entries.flatMap((each) => (each === entry ? changed : [each]))
      return Array.isArray(value) ? all.map(([, item]) => item) : Object.fromEntries(all)
    }
  }
  const nested = Array.from({ length: DEEP }).reduce<unknown>((inner) => [inner], value)
  const text = typeof value === 'string' ? value : ''
  const others: readonly unknown[] = [
    ...[null, true, false, 0, -1, 1e308, '', [], {}, [value], { value }, nested],
    ...[`${text} `, text.toUpperCase(), text.slice(1), `${text}${text}`, Number(text), String(value)],
    ...words,
  ]
  return random.pick(others)
}

type Entry = [string, unknown]

function changeMember([name, value]: Entry, options: MutateOptions): Entry[] {
  const { random, words } = options
  const way = random.below(8)
  if (way === 0) return []
  if (way === 1) return [[random.pick([...words, '__proto__', 'constructor', name.toUpperCase()]), value]]
  if (way === 2)
    return [
      [name, value],
      [`${name}_2`, value],
    ]
  return [[name, changeValue(value, options)]]
}
