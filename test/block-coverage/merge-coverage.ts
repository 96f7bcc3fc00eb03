/** What V8 writes about one script of one process. */
export type ScriptCoverage = {
  readonly url: string
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number
      readonly endOffset: number
      readonly count: number
    }[]
  }[]
}

/** Of a file, over all processes. */
export type Covered = {
  /** For each character, whether it was run. */
  readonly reached: Uint8Array
  /** Where the blocks begin that V8 tells apart. */
  readonly blocks: Set<number>
}

/** Lines, from 1. */
export type Range = { readonly from: number; readonly to: number }

/** The innermost block that contains a character decides about it: outer blocks come first, and inner ones overwrite them. */
export function addProcess(before: Covered | undefined, script: ScriptCoverage, length: number): Covered {
  const covered = before ?? { reached: new Uint8Array(length), blocks: new Set<number>() }
  const own = new Uint8Array(length)
  const ranges = script.functions.flatMap(({ ranges: each }) => each)
  for (const { startOffset, endOffset, count } of ranges.toSorted(byWidth)) {
    own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
    covered.blocks.add(startOffset)
  }
  for (let at = 0; at < length; at++) if (own[at]) covered.reached[at] = 1
  return covered
}

type Block = ScriptCoverage['functions'][number]['ranges'][number]

const byWidth = (one: Block, other: Block) =>
  other.endOffset - other.startOffset - (one.endOffset - one.startOffset)

type Unreached = { readonly blocks: number; readonly reached: number; readonly unreached: readonly Range[] }

/** A file that no process has loaded is one block that is not reached. */
export function listUnreached(source: string, covered: Covered | undefined): Unreached {
  const lines = source.split('\n')
  if (!covered) {
    const hasCode = lines.some((line) => /^(export )?(async )?(function|const|let|class) /.test(line))
    return hasCode
      ? { blocks: 1, reached: 0, unreached: [{ from: 1, to: lines.length }] }
      : { blocks: 0, reached: 0, unreached: [] }
  }
  const starts = [...covered.blocks]
  const reached = starts.filter((start) => isBlockReached(covered.reached, start)).length
  return { blocks: starts.length, reached, unreached: joinLines(listLines(lines, covered.reached)) }
}

/** Of each of these lines, what was not run: often a default at its end. */
export function listCode(
  source: string,
  ranges: readonly Range[],
  covered: Covered | undefined,
): { readonly line: number; readonly code: string }[] {
  let at = 0
  return source.split('\n').flatMap((text, index) => {
    const own = covered?.reached.subarray(at, at + text.length) ?? new Uint8Array(text.length)
    at += text.length + 1
    const line = index + 1
    if (!ranges.some(({ from, to }) => from <= line && line <= to)) return []
    const code = text.slice(own.indexOf(0), own.lastIndexOf(0) + 1).trim()
    return [{ line, code }]
  })
}

/** One counts as reached if its first character is: V8 ends blocks in other places in other processes. */
const isBlockReached = (reached: Uint8Array, start: number): boolean => reached[start] === 1

/** The lines with code that was not run. Brackets, comments and blanks are not code. */
function listLines(lines: readonly string[], reached: Uint8Array): number[] {
  const found: number[] = []
  let [at, isComment] = [0, false]
  for (const [index, line] of lines.entries()) {
    const text = line.trim()
    if (text.startsWith('/*')) isComment = true
    const isCode = !isComment && !text.startsWith('//') && /[A-Za-z0-9]/.test(text)
    if (text.endsWith('*/')) isComment = false
    if (isCode && hasUnreached(line, at, reached)) found.push(index + 1)
    at += line.length + 1
  }
  return found
}

const hasUnreached = (line: string, at: number, reached: Uint8Array): boolean =>
  [...line].some((character, index) => /[A-Za-z0-9]/.test(character) && reached[at + index] === 0)

function joinLines(lines: readonly number[]): Range[] {
  const ranges: { from: number; to: number }[] = []
  for (const line of lines) {
    const last = ranges.at(-1)
    if (last && line <= last.to + 1) last.to = line
    else ranges.push({ from: line, to: line })
  }
  return ranges
}
