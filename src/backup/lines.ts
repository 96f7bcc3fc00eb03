import { createHmac, type Hmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { type End, LONGEST_LINE, toMacText } from './format.ts'

/** The file is damaged or not a backup. */
export class Damaged extends Error {}

/** The value of a line: an object, or the values of a row. */
export type Line = Partial<Record<string, unknown>> | readonly unknown[]

export const isRow = (line: Line): line is readonly unknown[] => Array.isArray(line)

export const isEnd = (line: Line): line is Line & End =>
  !isRow(line) && line.end === true && typeof line.mac === 'string'

/** The file is whole, but its MAC is not that of its content. */
export class Altered extends Error {}

/**
 * The values of all lines. `toKey` gets the first one, and gives the key of the MAC. Throws when a line follows the end or the
 * MAC does not match.
 */
export async function* readLines(
  text: AsyncIterable<Buffer>,
  toKey: (first: Line) => KeyObject,
): AsyncIterable<Line> {
  let mac: Hmac | undefined
  let ended = false
  for await (const bytes of splitLines(text)) {
    const line = parseLine(bytes)
    if (ended) throw new Damaged()
    mac ??= createHmac('sha256', toKey(line))
    if (isEnd(line)) {
      ended = true
      requireMac(line, bytes, mac)
    } else mac.update(bytes).update('\n')
    yield line
  }
}

function requireMac({ mac: said }: End, bytes: Buffer, mac: Hmac): void {
  const suffix = toMacText(said)
  if (!bytes.subarray(-suffix.length).equals(Buffer.from(suffix))) throw new Damaged()
  const found = mac.update(bytes.subarray(0, -suffix.length)).digest()
  const expected = Buffer.from(said, 'hex')
  if (expected.length !== found.length || !timingSafeEqual(expected, found)) throw new Altered()
}

function parseLine(bytes: Buffer): Line {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (typeof value === 'object' && value !== null) return value as Line
  } catch {
    // Reported as Damaged, unlike an error of the consumer.
  }
  throw new Damaged()
}

/** Without their line feeds. Throws when a line is too long: a small file may unpack to any size. */
export async function* splitLines(text: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let pieces: Buffer[] = []
  let length = 0
  for await (const chunk of text) {
    let start = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, at))
      yield Buffer.concat(pieces)
      pieces = []
      length = 0
      start = at + 1
    }
    pieces.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > LONGEST_LINE) throw new Damaged()
  }
  if (length > 0) throw new Damaged()
}
