import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { chooseTests, type Reach, readHits } from './reach.ts'
import { CALLERS } from './sql-mutants.ts'

const begins = (name: string) => JSON.stringify({ begins: name })
const ends = (name: string, cpuMs = 1) => JSON.stringify({ ends: name, cpuMs, ms: cpuMs * 2 })

describe('what the tests of a file reached', () => {
  it('is told test by test', () => {
    const lines = [
      begins('a'),
      'src/x.ts 5',
      ends('a', 3),
      begins('b'),
      'src/x.ts 5',
      'src/x.ts 9',
      ends('b'),
    ]
    expect(readHits(lines.join('\n'))).toEqual({
      tests: [
        { name: 'a', cpuMs: 3, ms: 6 },
        { name: 'b', cpuMs: 1, ms: 2 },
      ],
      files: { 'src/x.ts': { 5: [0, 1], 9: [1] } },
    })
  })

  it.each([
    ['outside of a test', ['src/x.ts 0', begins('a'), ends('a'), begins('b'), ends('b')]],
    ['in another thread', [begins('a'), '* src/x.ts 0', ends('a'), begins('b'), ends('b')]],
    ['while two tests ran', [begins('a'), begins('b'), 'src/x.ts 0', ends('b'), ends('a')]],
  ])('counts for all of them, when it was reached %s', (_when, lines) => {
    expect(readHits(lines.join('\n')).files).toEqual({ 'src/x.ts': { 0: [0, 1] } })
  })

  it('is nothing when nothing was noted', () => {
    expect(readHits('')).toEqual({ tests: [], files: {} })
  })
})

describe('the tests of a mutant', () => {
  const root = mkdtempSync(join(tmpdir(), 'tabbat-reach-'))
  afterAll(() => rmSync(root, { recursive: true }))
  const toReached = (
    test: string,
    text: string,
    cpuMs: readonly number[],
    failed: readonly string[] = [],
  ) => {
    mkdirSync(join(root, test, '..'), { recursive: true })
    writeFileSync(join(root, test), text)
    const tests = cpuMs.map((each, index) => ({ name: `${index}`, cpuMs: each, ms: each }))
    const files = { 'src/keys/x.ts': { 7: cpuMs.map((_, index) => index) } }
    return [test, { tests, files, hash: '', hashes: {}, failed }] as const
  }
  const reach: Reach = Object.fromEntries([
    toReached('test/http/far.test.ts', '', [1]),
    toReached('test/keys/near.test.ts', '', [30, 2]),
    toReached('test/keys/x.test.ts', `import { x } from '../../src/keys/x.ts'`, [50, 4, 3]),
    toReached('test/keys/failing.test.ts', '', [1], ['0']),
  ])
  const choose = (budgetMs: number, block = 7) =>
    chooseTests(root, reach, { file: 'src/keys/x.ts', block }, budgetMs).map(
      ({ file, names }) => `${file} ${names}`,
    )

  it('are those of the nearest files, in the order of each file, with the quick ones of all before slow ones', () => {
    expect(choose(1000)).toEqual([
      'test/keys/x.test.ts 0,1,2',
      'test/keys/near.test.ts 0,1',
      'test/http/far.test.ts 0',
    ])
    expect(choose(10)).toEqual([
      'test/keys/x.test.ts 1,2',
      'test/keys/near.test.ts 1',
      'test/http/far.test.ts 0',
    ])
  })

  it('are one, when none fits, and none when none reaches it', () => {
    expect(choose(1)).toEqual(['test/keys/x.test.ts 2'])
    expect(choose(1000, 8)).toEqual([])
  })

  it('are, for a function of PostgreSQL, those that run the file that calls it', () => {
    const [sql, caller] = Object.entries(CALLERS)[0] as [string, string]
    const [test, reached] = toReached('test/ledger/sql.test.ts', '', [1, 2, 3])
    const files = { [caller]: { 0: [0, 1, 2], 8: [1], 9: [1, 2] } }
    const chosen = chooseTests(root, { [test]: { ...reached, files } }, { file: sql, block: 0 }, 1000)
    expect(chosen.map(({ names }) => names)).toEqual([['1', '2']])
  })
})
