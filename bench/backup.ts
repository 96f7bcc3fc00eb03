import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toChoices, toWhole } from '../build/tool-arguments.ts'
import { toTable } from '../src/server/terminal.ts'
import { execute } from '../test/postgres.ts'
import { CURRENT } from './checkout.ts'
import { cores, move } from './cores.ts'
import { openPostgresRegistry } from './postgres-registry.ts'
import { readTree } from './processes.ts'
import { openSqliteRegistry } from './registry.ts'
import { runMeasured } from './run-measured.ts'

const HELP = `npm run bench:backup -- [records] [sqlite|postgres]

How long tabbat backup, backup check and restore take, and how much memory, with 1000000 records or as many as you say. The first
run fills the registry with tabbat import, and keeps it for the next.`

type Settings = Readonly<Record<string, string>>
type Engine = {
  readonly name: string
  readonly settings: Settings
  /** The settings of an empty database with the same root key. */
  readonly empty: Settings
  readonly stop: () => Promise<void>
}

const [records = '1000000', given = 'sqlite,postgres'] = readArguments(
  HELP,
  {},
  { positionals: 2 },
).positionals
const COUNT = toWhole('The number of records', records)
const only = toChoices('The database', given, ['sqlite', 'postgres'])
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const say = (line: string) => console.error(line)

const rows = [['database', 'command', 'seconds', 'processor seconds', 'peak memory']]
for (const open of [
  ...(only.includes('sqlite') ? [openSqliteEngine] : []),
  ...(only.includes('postgres') ? [openPostgresEngine] : []),
]) {
  const engine = await open()
  if (typeof engine === 'string') say(`PostgreSQL is left out: ${engine}`)
  else rows.push(...(await measure(engine)))
}
console.log(toTable(rows))

async function measure({ name, settings, empty, stop }: Engine): Promise<string[][]> {
  const file = join(folder, `${name}.backup`)
  const steps = [
    { words: ['backup', file], env: settings },
    { words: ['backup', 'check', file], env: settings },
    { words: ['restore', file], env: empty },
  ]
  const lines: string[][] = []
  for (const { words, env } of steps) {
    const { stdout, seconds, cpuSeconds, peakMb } = await runMeasured([...words, '--json'], env)
    const { rows: counts } = JSON.parse(stdout) as { rows: Record<string, number> }
    if ((counts.registry ?? 0) < COUNT)
      throw new Error(`${words[0]}: ${counts.registry} rows of the registry instead of ${COUNT}`)
    lines.push([
      name,
      words.slice(0, -1).join(' '),
      seconds.toFixed(1),
      cpuSeconds.toFixed(1),
      `${peakMb.toFixed(0)} MB`,
    ])
  }
  say(`${name}: ${COUNT} records, a file of ${(statSync(file).size / 1e6).toFixed(0)} MB`)
  await stop()
  return lines
}

async function openSqliteEngine(): Promise<Engine> {
  const { dataDir } = await openSqliteRegistry(CURRENT, folder, COUNT, say)
  return {
    name: 'SQLite',
    settings: { TABBAT_DATA_DIR: dataDir },
    empty: { TABBAT_DATA_DIR: createEmpty(dataDir) },
    stop: async () => {},
  }
}

async function openPostgresEngine(): Promise<Engine | string> {
  const registry = await openPostgresRegistry(CURRENT, folder, COUNT, say)
  if (typeof registry === 'string') return registry
  const { url, dataDir, pid, stop } = registry
  // No load generator needs a core here.
  if (pid !== undefined)
    move(
      cores.all,
      readTree(pid).map((each) => each.pid),
    )
  await execute(url, 'CREATE DATABASE restored')
  const target = Object.assign(new URL(url), { pathname: 'restored' }).href
  return {
    name: 'PostgreSQL',
    settings: { TABBAT_DATA_DIR: dataDir, TABBAT_DATABASE_URL: url },
    empty: { TABBAT_DATA_DIR: createEmpty(dataDir), TABBAT_DATABASE_URL: target },
    stop,
  }
}

/** A data folder with the root key alone. */
function createEmpty(dataDir: string): string {
  const empty = `${dataDir}-empty`
  mkdirSync(empty)
  copyFileSync(join(dataDir, 'root.key'), join(empty, 'root.key'))
  return empty
}
