import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join, matchesGlob } from 'node:path'
import type { ProvidedContext } from 'vitest'
import { readArguments, refuse, toPositive } from '../../build/tool-arguments.ts'
import { setup } from '../postgres.ts'
import { applyTo, createMutants, type Mutant, parses } from './create-mutants.ts'
import { type Lane, openLane } from './lane.ts'
import { type ChosenTests, chooseTests, findReach, hashOf, type Reach } from './reach.ts'
import { type Explained, printReport, type Result, toReport } from './report.ts'
import { listFiles, listTests } from './rooms.ts'

const HELP = `npm run mutation -- [options]

Changes the product in one place at a time, and runs the tests that reach the place. A test should fail.

  --files GLOB     only these files; may be repeated
  --tests GLOB     only these tests; may be repeated
  --since REF      only files that differ from this commit
  --sample N       at most N mutants of each room, chosen by the seed
  --seed TEXT      another text chooses another sample (1)
  --budget S       run the nearest tests of a mutant that take about S seconds of processor (20)
  --score PERCENT  exit with 1 below this score (85)
  --sqlite         without PostgreSQL: quicker, and without the mutants of postgres-*.ts and *.sql
  --fresh          try again what the cache knows
  --list           print the mutants, and run nothing
  --json           print the report as JSON

Results are kept in node_modules/.cache/tabbat-mutation: an interrupted run goes on where it was. Survivors that cannot be
killed stand with their reasons in test/mutation/survivors.json.`

const repository = join(import.meta.dirname, '../..')
const toCache = (isSqlite: boolean) =>
  join(repository, 'node_modules/.cache/tabbat-mutation', isSqlite ? 'sqlite' : 'both')
const RESULTS = 'results.json'
const LOWEST_PRIORITY = 19
/** As a shell says of a program that Ctrl-C ended. */
const SIGNALLED = 130
/** Added to four times the usual duration of the tests before a mutant counts as one that never ends. A new process takes its time. */
const PATIENCE_MS = 30_000

type Options = ReturnType<typeof readOptions>
type Planned = { readonly mutant: Mutant; readonly room: string }

function readOptions() {
  const { values } = readArguments(HELP, {
    files: { type: 'string', multiple: true },
    tests: { type: 'string', multiple: true },
    since: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    budget: { type: 'string', default: '20' },
    score: { type: 'string', default: '85' },
    sqlite: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  })
  for (const name of ['sample', 'budget', 'score'] as const)
    if (values[name] !== undefined) toPositive(`--${name}`, values[name])
  refuseUnmatched('--files', values.files, [...listFiles(repository).keys()])
  refuseUnmatched('--tests', values.tests, globSync('test/**/*.test.ts', { cwd: repository }))
  return values
}

/** Nothing would be tried, and all of nothing is noticed. */
function refuseUnmatched(name: string, globs: readonly string[] = [], paths: readonly string[]): void {
  const glob = globs.find((each) => !paths.some((path) => matchesGlob(path, each)))
  if (glob !== undefined) refuse(`No file that has mutants or tests of them matches ${name} ${glob}.`)
}

/** Every mutant of the rooms, and those that the options choose. */
function plan(options: Options): { readonly all: Planned[]; readonly chosen: Planned[] } {
  const rooms = listFiles(repository)
  const all = [...rooms].flatMap(([file, room]) =>
    createMutants(file, textOf(file)).map((mutant) => ({ mutant, room })),
  )
  const changed = options.since === undefined ? undefined : changedSince(options.since)
  const wanted = all.filter(
    ({ mutant: { file } }) =>
      !(options.sqlite && /\/postgres-|\.sql$/.test(file)) &&
      (changed?.has(file) ?? true) &&
      (options.files?.some((glob) => matchesGlob(file, glob)) ?? true),
  )
  const rank = ({ mutant }: Planned) => hashOf(`${options.seed} ${mutant.key}`)
  const chosen = [...Map.groupBy(wanted, ({ room }) => room).values()].flatMap((ofRoom) =>
    options.sample === undefined
      ? ofRoom
      : ofRoom.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)).slice(0, Number(options.sample)),
  )
  return { all, chosen: chosen.filter(({ mutant }) => parses(mutant.file, mutate(mutant))) }
}

/** As it was at the start: the repository may change during a long run. */
const texts = new Map<string, string>()

function textOf(file: string): string {
  const text = texts.get(file) ?? readFileSync(join(repository, file), 'utf8')
  texts.set(file, text)
  return text
}

const mutate = (mutant: Mutant) => applyTo(textOf(mutant.file), mutant)

/** Of the copy: a test that is written during a long run is not in it. */
const testsOfRoom = (root: string, room: string, { tests }: Options) =>
  listTests(root, room).filter((test) => tests?.some((glob) => matchesGlob(test, glob)) ?? true)

function changedSince(ref: string): ReadonlySet<string> {
  const { status, stdout } = spawnSync('git', ['diff', '--name-only', ref, '--'], {
    cwd: repository,
    encoding: 'utf8',
  })
  if (status !== 0) refuse(`git knows no commit ${ref}.`)
  return new Set(stdout.split('\n'))
}

/** By key of a mutant: what was found, the texts that it depends on, and the hash of the choice of tests. */
type Cached = Record<
  string,
  { readonly result: Result; readonly texts: Readonly<Record<string, string>>; readonly choice: string }
>

/** What the mutants of a room are tried with. */
type Trial = {
  readonly lane: Lane
  readonly reach: Reach
  readonly budgetMs: number
  readonly cached: Cached
}

async function tryMutant({ mutant, room }: Planned, trial: Trial): Promise<Result> {
  const { lane, cached } = trial
  const tests = chooseTests(lane.root, trial.reach, mutant, trial.budgetMs)
  const choice = hashOf(JSON.stringify(tests.map(({ file, names }) => ({ file, names }))))
  // Of the copy: the repository may have changed since.
  const hashes = (files: readonly string[]) =>
    Object.fromEntries(files.map((file) => [file, hashOf(readFileSync(join(lane.root, file), 'utf8'))]))
  const known = cached[mutant.key]
  const isSame = (texts: Readonly<Record<string, string>>) =>
    JSON.stringify(texts) === JSON.stringify(hashes(Object.keys(texts)))
  if (known && isSame(known.texts)) {
    const { status } = known.result
    const isEnough = status === 'killed' || status === 'timeout'
    if (isEnough || known.choice === choice) return { ...known.result, ...placeOf(mutant, room) }
  }
  const result: Result = { ...placeOf(mutant, room), ...(await judge(trial, mutant, tests)) }
  const files = tests.map(({ file }) => file)
  const dependsOn = result.status === 'survived' ? files : files.filter((file) => result.by?.startsWith(file))
  cached[mutant.key] = { result, texts: hashes([mutant.file, ...dependsOn]), choice }
  return result
}

const placeOf = ({ key, file, line, operator }: Mutant, room: string) => ({ key, room, file, line, operator })

async function judge(
  trial: Trial,
  mutant: Mutant,
  tests: readonly ChosenTests[],
  text = mutate(mutant),
): Promise<Pick<Result, 'status' | 'by'>> {
  if (tests.length === 0) return { status: 'unreached' }
  let patienceMs = PATIENCE_MS + 4 * tests.reduce((sum, { ms }) => sum + ms, 0)
  for (;;) {
    const outcome = await runWith(trial, mutant.file, text, tests, patienceMs)
    if ('ended' in outcome) return { status: 'killed', by: 'the process of the tests ended' }
    if ('failed' in outcome)
      return outcome.failed ? { status: 'killed', by: outcome.by } : { status: 'survived' }
    // A busy machine is no mutant that never ends: without it the tests must end in this time.
    const control = await runWith(trial, mutant.file, textOf(mutant.file), tests, patienceMs)
    if (!('timedOut' in control)) return { status: 'timeout' }
    patienceMs *= 2
  }
}

async function runWith(
  { lane }: Trial,
  file: string,
  text: string,
  tests: readonly ChosenTests[],
  patienceMs: number,
) {
  lane.write(file, text)
  const outcome = await lane.run({ tests }, patienceMs)
  lane.write(file, textOf(file))
  return outcome
}

async function run(options: Options): Promise<number> {
  const { all, chosen } = plan(options)
  if (options.list) {
    for (const { mutant } of chosen) console.log(`${mutant.line}\t${mutant.key}`)
    return 0
  }
  const say = (line: string) => process.stderr.write(`${line}\n`)
  setPriority(LOWEST_PRIORITY)
  const cache = toCache(options.sqlite)
  mkdirSync(cache, { recursive: true })
  // In memory, where there is such a place: most of the time of a test goes into waiting for the disk.
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  process.env.TMPDIR = parent
  const { postgres, stop } = await startDatabase(options.sqlite)
  const lane = openLane(repository, parent, postgres)
  // The copy is in memory, and outlives the process.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, async () => {
      lane.close()
      await stop()
      process.exit(SIGNALLED)
    })
  try {
    const results: Result[] = []
    for (const [room, ofRoom] of Map.groupBy(chosen, ({ room }) => room)) {
      say(`${room}: ${ofRoom.length} mutants`)
      const tests = testsOfRoom(lane.root, room, options)
      const tried = new Set(ofRoom.map(({ mutant }) => mutant.file))
      const reach = await findReach(lane, { cache, files: texts, tried, tests }, say)
      const trial = {
        lane,
        reach,
        budgetMs: Number(options.budget) * 1000,
        cached: readCached(cache, options.fresh ? ofRoom : []),
      }
      results.push(...(await tryAll(ofRoom, trial, join(cache, RESULTS), say)))
    }
    const survivors: Explained[] = JSON.parse(
      readFileSync(join(import.meta.dirname, 'survivors.json'), 'utf8'),
    )
    const report = toReport(
      results,
      survivors,
      all.map(({ mutant }) => mutant.key),
    )
    console.log(options.json ? JSON.stringify(report, undefined, 2) : printReport(report))
    return report.score >= Number(options.score) && report.stale.length === 0 ? 0 : 1
  } finally {
    lane.close()
    await stop()
  }
}

async function startDatabase(isLeftOut: boolean) {
  let postgres: ProvidedContext['postgres'] = { missing: 'left out with --sqlite' }
  if (isLeftOut) return { postgres, stop: async () => {} }
  const project = { provide: (_: string, server: typeof postgres) => (postgres = server) } as never
  const stop = await setup(project)
  return { postgres, stop }
}

/** Without those that are to be tried again. */
function readCached(cache: string, again: readonly Planned[]): Cached {
  const place = join(cache, RESULTS)
  const cached: Cached = existsSync(place) ? JSON.parse(readFileSync(place, 'utf8')) : {}
  for (const { mutant } of again) delete cached[mutant.key]
  return cached
}

async function tryAll(
  chosen: readonly Planned[],
  trial: Trial,
  place: string,
  say: (line: string) => void,
): Promise<Result[]> {
  const results: Result[] = []
  for (const planned of chosen) {
    const before = trial.cached[planned.mutant.key]
    results.push(await tryMutant(planned, trial))
    if (trial.cached[planned.mutant.key] !== before) writeFileSync(place, JSON.stringify(trial.cached))
    showProgress(results, chosen.length, say)
  }
  if (process.stderr.isTTY) process.stderr.write('\n')
  await control(chosen, results, trial)
  return results
}

/** The tests that noticed the last mutant must pass without it. Otherwise none of the results means anything. */
async function control(chosen: readonly Planned[], results: readonly Result[], trial: Trial): Promise<void> {
  const last = results.findLastIndex(({ status }) => status === 'killed')
  const mutant = chosen[last]?.mutant
  if (!mutant) return
  const tests = chooseTests(trial.lane.root, trial.reach, mutant, trial.budgetMs)
  const { status, by } = await judge(trial, mutant, tests, textOf(mutant.file))
  if (status !== 'survived')
    throw new Error(`Tests fail without a mutant (${by ?? status}). Mend them, then use --fresh.`)
}

const PLAIN_EVERY = 25

function showProgress(results: readonly Result[], total: number, say: (line: string) => void): void {
  const last = results.at(-1) as Result
  const found = results.filter(({ status }) => status === 'killed' || status === 'timeout').length
  const line = `${results.length} of ${total} mutants, ${found} noticed`
  const isMissed = last.status === 'survived' || last.status === 'unreached'
  if (process.stderr.isTTY)
    process.stderr.write(`\r\x1b[K${isMissed ? `${last.status}: ${last.key}\n` : ''}${line}`)
  else if (isMissed) say(`${last.status}: line ${last.line} ${last.key}`)
  else if (results.length % PLAIN_EVERY === 0) say(line)
}

try {
  process.exitCode = await run(readOptions())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}
