import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { instrument } from './create-mutants.ts'
import type { Lane, Outcome } from './lane.ts'
import { CALLERS } from './sql-mutants.ts'

/** A test, and what it took on the instrumented product. */
type Timed = { readonly name: string; readonly cpuMs: number; readonly ms: number }

/** Of one test file: its tests, and by block of a file of the product the numbers of the tests that reached it. */
type TestReach = {
  readonly tests: readonly Timed[]
  readonly files: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>
}

/** What a test file reached when it last ran on the instrumented product. */
type Reached = TestReach & {
  readonly hash: string
  /** What failed: these tests tell nothing about mutants. */
  readonly failed: readonly string[]
  /** By file of the product: its hash then. */
  readonly hashes: Readonly<Record<string, string>>
}

export type Reach = Readonly<Record<string, Reached>>

const MAX_TEST_MS = 300_000

export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

type Wanted = {
  readonly cache: string
  /** The product: the text of each file. */
  readonly files: ReadonlyMap<string, string>
  /** Those of the product whose mutants are tried: what a test reached of others may be of an older text. */
  readonly tried: ReadonlySet<string>
  readonly tests: readonly string[]
}

/** Runs every test file once whose reach is unknown, or was found with other texts. */
export async function findReach(
  lane: Lane,
  { cache, files, tried, tests }: Wanted,
  say: (line: string) => void,
): Promise<Reach> {
  const folder = join(cache, 'reach')
  mkdirSync(folder, { recursive: true })
  const placeOf = (test: string) => join(folder, `${test.replaceAll('/', '_')}.json`)
  const reach: Record<string, Reached> = Object.fromEntries(
    tests
      .filter((test) => existsSync(placeOf(test)))
      .map((test) => [test, JSON.parse(readFileSync(placeOf(test), 'utf8'))]),
  )
  const hashes = new Map([...files].map(([file, text]) => [file, hashOf(text)]))
  const isKnown = (test: string) => {
    const known = reach[test]
    return (
      known?.failed.length === 0 &&
      known.hash === hashOf(readFileSync(join(lane.root, test), 'utf8')) &&
      Object.entries(known.hashes).every(([file, hash]) => !tried.has(file) || hashes.get(file) === hash)
    )
  }
  const unknown = tests.filter((test) => !isKnown(test))
  if (unknown.length === 0) return reach
  for (const [file, text] of files) lane.write(file, instrument(file, text))
  for (const [index, test] of unknown.entries()) {
    const found = await reachOf(lane, test, cache, hashes)
    reach[test] = found
    writeFileSync(placeOf(test), JSON.stringify(found))
    const remark = found.failed.length === 0 ? '' : `, left out because it fails: ${found.failed.join('; ')}`
    const cpuMs = found.tests.reduce((sum, one) => sum + one.cpuMs, 0)
    say(`${index + 1} of ${unknown.length} test files: ${test} (${cpuMs} ms)${remark}`)
  }
  for (const [file, text] of files) lane.write(file, text)
  return reach
}

async function reachOf(
  lane: Lane,
  test: string,
  cache: string,
  hashes: ReadonlyMap<string, string>,
): Promise<Reached> {
  // Several runs may share the cache.
  const hits = join(cache, `hits-${process.pid}.txt`)
  rmSync(hits, { force: true })
  const outcome = await lane.run({ tests: [{ file: test }], hits }, MAX_TEST_MS)
  const found = readHits(existsSync(hits) ? readFileSync(hits, 'utf8') : '')
  rmSync(hits, { force: true })
  return {
    ...found,
    hash: hashOf(readFileSync(join(lane.root, test), 'utf8')),
    failed: listFailed(outcome),
    hashes: Object.fromEntries(Object.keys(found.files).map((file) => [file, hashes.get(file) ?? ''])),
  }
}

function listFailed(outcome: Outcome): readonly string[] {
  if (!('failed' in outcome)) return [WHOLE_FILE]
  return outcome.failed && outcome.failedTests.length === 0 ? [WHOLE_FILE] : outcome.failedTests
}

/** In place of the name of a test. */
const WHOLE_FILE = 'the file as a whole'

/** What no single test reached (hooks of the file, loaded modules, other threads) counts as reached by all tests of the file. */
export function readHits(text: string): TestReach {
  const lines = text.split('\n').filter((line) => line !== '')
  const tests: Timed[] = lines
    .filter((line) => line.startsWith('{"ends"'))
    .map((line) => JSON.parse(line))
    .map(({ ends, cpuMs, ms }) => ({ name: ends, cpuMs, ms }))
  const numbers = new Map(tests.map(({ name }, number) => [name, number]))
  const all = new Set(numbers.values())
  const found: Record<string, Record<string, Set<number>>> = {}
  const running = new Set<number>()
  for (const line of lines) {
    if (line.startsWith('{')) follow(running, numbers, line)
    else {
      const [file = '', block = ''] = line.replace(/^\* /, '').split(' ')
      const by = running.size === 0 || line.startsWith('* ') ? all : running
      found[file] ??= {}
      found[file][block] = by.union(found[file][block] ?? new Set())
    }
  }
  const files = Object.entries(found).map(([file, blocks]) => {
    const lists = Object.entries(blocks).map(([block, by]) => [block, [...by].sort((a, b) => a - b)])
    return [file, Object.fromEntries(lists)]
  })
  return { tests, files: Object.fromEntries(files) }
}

function follow(running: Set<number>, numbers: ReadonlyMap<string, number>, line: string): void {
  const { begins, ends } = JSON.parse(line)
  const number = numbers.get(begins ?? ends)
  if (number === undefined) return
  if (ends === undefined) running.add(number)
  else running.delete(number)
}

/** Tests of one file, in its order. */
export type ChosenTests = {
  readonly file: string
  readonly names: readonly string[]
  /** How long they take on a quiet machine, about. */
  readonly ms: number
}

/** The tests that reach a place: the nearest files first, and of these the quickest tests, as many as fit the budget, at least one. */
export function chooseTests(
  root: string,
  reach: Reach,
  { file, block }: { readonly file: string; readonly block: number },
  budgetMs: number,
): ChosenTests[] {
  const room = dirname(file).split('/')[1]
  const distance = (test: string) => {
    if (importsOf(root, test).has(file)) return 0
    return test.split('/')[1] === room ? 1 : 2
  }
  const near = Object.entries(reach)
    .filter(([, { failed }]) => !failed.includes(WHOLE_FILE))
    .flatMap(([test, { tests, files, failed }]) =>
      listReaching(files, file, block)
        .map((number) => ({ test, number, ...(tests[number] as Timed) }))
        .filter(({ name }) => !failed.includes(name)),
    )
    .map((one) => ({ ...one, distance: distance(one.test) }))
    .sort((one, other) => one.distance - other.distance || one.cpuMs - other.cpuMs)
  let spentMs = 0
  const fitting = near.filter(({ cpuMs }, index) => {
    if (index > 0 && spentMs + cpuMs > budgetMs) return false
    spentMs += cpuMs
    return true
  })
  return [...Map.groupBy(fitting, ({ test }) => test)].map(([test, chosen]) => ({
    file: test,
    names: chosen.sort((one, other) => one.number - other.number).map(({ name }) => name),
    ms: chosen.reduce((sum, { ms }) => sum + ms, 0),
  }))
}

/** The numbers of the tests. */
function listReaching(files: TestReach['files'], file: string, block: number): readonly number[] {
  const caller = CALLERS[file]
  if (caller === undefined) return files[file]?.[block] ?? []
  const { 0: _loaded, ...run } = files[caller] ?? {}
  return [...new Set(Object.values(run).flat())]
}

const imports = new Map<string, ReadonlySet<string>>()

function importsOf(root: string, test: string): ReadonlySet<string> {
  const known = imports.get(test)
  if (known) return known
  const text = readFileSync(join(root, test), 'utf8')
  const found = new Set(
    [...text.matchAll(/from '(\.[^']+\.ts)'/g)].map(([, path = '']) => join(dirname(test), path)),
  )
  imports.set(test, found)
  return found
}
