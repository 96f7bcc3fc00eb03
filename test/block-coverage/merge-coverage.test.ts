import { expect, it } from 'vitest'
import { addProcess, listCode, listUnreached, type ScriptCoverage } from './merge-coverage.ts'

const SOURCE = `import { a } from 'b'
/** Why. */
export function choose(is: boolean) {
  if (is) {
    return 'yes'
  }
  return 'no'
}

function never() {
  return 1
}
`
const at = (text: string) => SOURCE.indexOf(text)
const block = (from: string, to: string, count: number) => ({
  startOffset: at(from),
  endOffset: at(to) + to.length,
  count,
})

/** The first process takes one branch, the second the other; none calls the second function. */
const toScript = (yes: number, no: number): ScriptCoverage => ({
  url: 'file:///x.ts',
  functions: [
    { ranges: [{ startOffset: 0, endOffset: SOURCE.length, count: 1 }] },
    {
      ranges: [
        block('export function', "'no'\n}", yes + no),
        block("{\n    return 'yes'", "'yes'\n  }", yes),
        block("return 'no'", "'no'\n", no),
      ],
    },
    { ranges: [block('function never', 'return 1\n}', 0)] },
  ],
})
const listLines = (...scripts: ScriptCoverage[]) =>
  listUnreached(
    SOURCE,
    scripts.reduce<ReturnType<typeof addProcess> | undefined>(
      (covered, script) => addProcess(covered, script, SOURCE.length),
      undefined,
    ),
  )

it('a branch is reached if one of several processes has taken it', () => {
  expect(listLines(toScript(1, 0)).unreached).toEqual([
    { from: 7, to: 7 },
    { from: 10, to: 11 },
  ])
  expect(listLines(toScript(1, 0), toScript(0, 1))).toEqual({
    blocks: 5,
    reached: 4,
    unreached: [{ from: 10, to: 11 }],
  })
})

it('of a line of which a part was run, the code that was not is shown', () => {
  const source = "const place = (value) => value ?? 'nowhere'\nplace('here')\n"
  const of = (text: string, count: number) => {
    const startOffset = source.indexOf(text)
    return { ranges: [{ startOffset, endOffset: startOffset + text.length, count }] }
  }
  const functions = [of(source, 1), of("(value) => value ?? 'nowhere'", 1), of("?? 'nowhere'", 0)]
  const covered = addProcess(undefined, { url: 'file:///x.ts', functions }, source.length)
  expect(listCode(source, listUnreached(source, covered).unreached, covered)).toEqual([
    { line: 1, code: "?? 'nowhere'" },
  ])
})

it('a file that nothing has loaded is not reached, unless it has types alone', () => {
  expect(listUnreached(SOURCE, undefined).unreached).toEqual([{ from: 1, to: 13 }])
  expect(listUnreached('export type A = string\n', undefined).unreached).toEqual([])
})
