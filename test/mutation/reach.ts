import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { instrument } from './create-mutants.ts'
import type { Lane } from './lane.ts'

/** What a test file reached when it last ran on the instrumented product. */
type Reached = {
  readonly hash: string
  readonly passed: boolean
  /** The test that failed. */
  readonly by?: string | undefined
  readonly ms: number
  /** By file of the product: its hash then, and the blocks that were reached. */
  readonly files: Readonly<Record<string, { readonly hash: string; readonly blocks: readonly number[] }>>
}

export type Reach = Record<string, Reached>

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
  const place = join(cache, 'reach.json')
  const reach: Reach = existsSync(place) ? JSON.parse(readFileSync(place, 'utf8')) : {}
  const hashes = new Map([...files].map(([file, text]) => [file, hashOf(text)]))
  const isKnown = (test: string) => {
    const known = reach[test]
    return (
      known?.passed &&
      known.hash === hashOf(readFileSync(join(lane.root, test), 'utf8')) &&
      Object.entries(known.files).every(([file, { hash }]) => !tried.has(file) || hashes.get(file) === hash)
    )
  }
  const unknown = tests.filter((test) => !isKnown(test))
  if (unknown.length === 0) return reach
  for (const [file, text] of files) lane.write(file, instrument(file, text))
  for (const [index, test] of unknown.entries()) {
    const found = await reachOf(lane, test, cache, hashes)
    reach[test] = found
    writeFileSync(place, JSON.stringify(reach))
    const remark = found.passed ? '' : ` fails without a mutant: ${found.by}`
    say(`${index + 1} of ${unknown.length} test files: ${test} (${found.ms} ms)${remark}`)
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
  const hits = join(cache, 'hits.txt')
  rmSync(hits, { force: true })
  const outcome = await lane.run({ tests: [test], hits }, MAX_TEST_MS)
  const lines = existsSync(hits) ? readFileSync(hits, 'utf8').trim().split('\n') : []
  const found: Record<string, { hash: string; blocks: number[] }> = {}
  for (const [file = '', block] of new Set(lines).values().map((line) => line.split(' '))) {
    found[file] ??= { hash: hashes.get(file) ?? '', blocks: [] }
    found[file].blocks.push(Number(block))
  }
  return {
    hash: hashOf(readFileSync(join(lane.root, test), 'utf8')),
    passed: 'failed' in outcome && !outcome.failed,
    by: 'failed' in outcome ? outcome.by : 'it does not end',
    ms: 'failed' in outcome ? outcome.ms : MAX_TEST_MS,
    files: found,
  }
}

/** The test files that reach a place, the nearest first, and of these the quickest. */
export function testsOf(
  root: string,
  reach: Reach,
  { file, block }: { readonly file: string; readonly block: number },
): string[] {
  const room = dirname(file).split('/')[1]
  const distance = (test: string) => {
    if (importsOf(root, test).has(file)) return 0
    return test.split('/')[1] === room ? 1 : 2
  }
  return Object.entries(reach)
    .filter(([, { passed, files }]) => passed && files[file]?.blocks.includes(block))
    .map(([test, { ms }]) => ({ test, ms, distance: distance(test) }))
    .sort((one, other) => one.distance - other.distance || one.ms - other.ms)
    .map(({ test }) => test)
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
