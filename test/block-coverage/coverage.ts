import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { readArguments, refuse, toChoice } from '../../build/tool-arguments.ts'
import { toTable } from '../../src/server/terminal.ts'
import {
  addProcess,
  type Covered,
  listCode,
  listUnreached,
  type Range,
  type ScriptCoverage,
} from './merge-coverage.ts'

const HELP = `npm run coverage -- [options] [test files or folders …]

Runs tests with the block coverage of V8 in every process and thread that they start, and lists what none of them reaches, by
file and line. Without names of test files, all tests of npm test run.

  --project NAME  unit, whole or system; may be repeated (default: unit and whole)
  --of FOLDERS    list these folders only, separated by commas (default src)
  --from FOLDER   run nothing, and list what an earlier run has written to this folder
  --code          print the code that is not reached instead: of many a line, a default at its end
  --json          print the list as JSON`

const { values, positionals } = readArguments(
  HELP,
  {
    project: { type: 'string', multiple: true, default: ['unit', 'whole'] },
    of: { type: 'string', default: 'src' },
    code: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    from: { type: 'string' },
  },
  { positionals: Number.POSITIVE_INFINITY },
)
for (const name of values.project) toChoice('--project', name, ['unit', 'whole', 'system'])
const ROOT = join(import.meta.dirname, '../..')
const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
if (!values.of.split(',').every((name) => isFolder(join(ROOT, name))))
  refuse('--of must name folders of this checkout, separated by commas.')
for (const name of positionals)
  if (!existsSync(join(ROOT, name))) refuse(`There is no ${JSON.stringify(name)} in this checkout.`)
if (values.from !== undefined && !isFolder(values.from))
  refuse('--from must be a folder that an earlier run has written.')
const folder = values.from ?? mkdtempSync(join(tmpdir(), 'tabbat-coverage-'))
if (values.from === undefined) await runTests(folder)

const listed = values.of.split(',')
const covered = new Map<string, Covered>()
for (const name of readdirSync(folder)) addFile(join(folder, name))
const files = listed.flatMap((part) => globSync(`${part}/**/*.ts`, { cwd: ROOT }))
const reports = files.toSorted().map((file) => {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const own = covered.get(file)
  const found = listUnreached(source, own)
  return { file, ...found, code: listCode(source, found.unreached, own) }
})
if (values.from === undefined) rmSync(folder, { recursive: true })
if (values.json) console.log(JSON.stringify(reports))
else print(values.code ? listByCode() : listByFile())

/** The tests are loaded by Node.js itself, so that the places in the coverage are those of the files. */
async function runTests(target: string): Promise<void> {
  const projects = values.project.flatMap((name) => ['--project', name])
  const config = ['--config', join(import.meta.dirname, 'vitest.config.ts'), '--root', ROOT]
  const child = spawn('vitest', ['run', ...config, ...projects, ...positionals], {
    cwd: ROOT,
    env: { ...process.env, NODE_V8_COVERAGE: target },
    stdio: ['ignore', values.json ? 2 : 1, 2],
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) process.exitCode = 1
}

/** A file of V8 may be incomplete, if its process was killed. */
function addFile(path: string): void {
  let result: readonly ScriptCoverage[]
  try {
    result = (JSON.parse(readFileSync(path, 'utf8')) as { result: readonly ScriptCoverage[] }).result
  } catch {
    return
  }
  for (const script of result) {
    if (!script.url.startsWith('file://')) continue
    const file = relative(ROOT, new URL(script.url).pathname)
    if (!listed.some((part) => file.startsWith(`${part}/`))) continue
    const length = readFileSync(join(ROOT, file), 'utf8').length
    covered.set(file, addProcess(covered.get(file), script, length))
  }
}

function listByFile(): string {
  const rows = reports.map(({ file, blocks, reached, unreached }) => [
    file,
    `${reached}/${blocks}`,
    unreached.map(toLines).join(' '),
  ])
  return toTable([
    ['file', 'blocks', 'lines that no test reaches'],
    ...rows.filter(([, , lines]) => lines !== ''),
  ])
}

function listByCode(): string {
  return toTable([
    ['place', 'code that no test reaches'],
    ...reports.flatMap(({ file, code }) => code.map((each) => [`${file}:${each.line}`, each.code])),
  ])
}

function print(list: string): void {
  const [blocks, reached] = [sum('blocks'), sum('reached')]
  console.log(list)
  console.log(`\n${reached} of ${blocks} blocks are reached (${((100 * reached) / blocks).toFixed(1)} %)`)
}

function sum(name: 'blocks' | 'reached'): number {
  return reports.reduce((total, report) => total + report[name], 0)
}

function toLines({ from, to }: Range): string {
  return from === to ? String(from) : `${from}-${to}`
}
