import { createHash } from 'node:crypto'
import { type End, LONGEST_LINE } from './format.ts'

/** The file is damaged or not a backup. */
export class Damaged extends Error {}

/** The value of a line: an object, or the values of a row. */
export type Line = Partial<Record<string, unknown>> | readonly unknown[]

export const isRow = (line: Line): line is readonly unknown[] => Array.isArray(line)

export const isEnd = (line: Line): line is Line & End =>
  !isRow(line) && line.end === true && typeof line.sha256 === 'string'

/** The values of all lines. Throws when a line follows the end or the hash does not match. */
export async function* readLines(text: AsyncIterable<Buffer>): AsyncIterable<Line> {
  const hash = createHash('sha256')
  let ended = false
  for await (const bytes of split(text)) {
    const line = parseLine(bytes)
    if (ended) throw new Damaged()
    ended = isEnd(line)
    if (isEnd(line) && line.sha256 !== hash.digest('hex')) throw new Damaged()
    if (!ended) hash.update(bytes).update('\n')
    yield line
  }
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

async function* split(text: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
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
