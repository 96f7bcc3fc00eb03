import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toChoice, toWhole } from '../build/tool-arguments.ts'
import { toTable } from '../src/server/terminal.ts'
import { toNinRecord } from '../src/sources/sandbox/nin-record.ts'
import { startPostgres, whyNoPostgres } from '../test/postgres.ts'
import { type Measured, runMeasured } from './run-measured.ts'

const HELP = `npm run bench:import -- [rows] [ndjson|csv]

How fast tabbat import is, and how much memory it takes, with 1000000 rows of ndjson or as you say.`

type Settings = Readonly<Record<string, string>>
type Engine = {
  readonly name: string
  readonly settings: Settings
  readonly close: () => Promise<void>
}
type Imported = Omit<Measured, 'stdout'> & { readonly records: number }

const [rows = '1000000', format = 'ndjson'] = readArguments(HELP, {}, { positionals: 2 }).positionals
const COUNT = toWhole('The number of rows', rows)
const FORMAT = toChoice('The format', format, ['ndjson', 'csv'])
const FIRST_NIN = 10_000_000_000

const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-import-'))
try {
  const file = join(folder, `people.${FORMAT}`)
  await writePeople(file, COUNT)
  console.log(
    `${COUNT} rows of ${FORMAT}, ${(statSync(file).size / 1e6).toFixed(0)} MB, ${availableParallelism()} cores, Node.js ${process.version}`,
  )
  const rows = [['engine', 'run', 'records/s', 'seconds', 'processor seconds', 'peak memory']]
  for (const open of [openSqliteEngine, openPostgresEngine]) {
    const engine = await open()
    if (!engine) continue
    for (const run of ['first', 'again']) rows.push(toRow(engine.name, run, await importFile(engine, file)))
    await engine.close()
  }
  console.log(toTable(rows))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function writePeople(file: string, count: number): Promise<void> {
  const out = createWriteStream(file, { highWaterMark: 1024 * 1024 })
  for (let index = 0; index < count; index++) {
    const record = toNinRecord(String(FIRST_NIN + index), `803${String(index % 1e7).padStart(7, '0')}`)
    const lines = FORMAT === 'csv' ? toCsv(record, index === 0) : JSON.stringify(record)
    if (!out.write(`${lines}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
}

/** A row, with the header before the first one. */
function toCsv(record: object, isFirst: boolean): string {
  const cells = toCells(record, '')
  const line = cells.map(([, text]) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join()
  return isFirst ? `${cells.map(([name]) => name).join()}\n${line}` : line
}

function toCells(group: object, prefix: string): [name: string, text: string][] {
  return Object.entries(group).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null
      ? toCells(value, `${prefix}${name}.`)
      : [[`${prefix}${name}`, String(value ?? '')] as [string, string]],
  )
}

async function openSqliteEngine(): Promise<Engine> {
  return { name: 'SQLite', settings: {}, close: async () => {} }
}

async function openPostgresEngine(): Promise<Engine | undefined> {
  const given = process.env.TABBAT_DATABASE_URL
  if (given) return { name: 'PostgreSQL', settings: { TABBAT_DATABASE_URL: given }, close: async () => {} }
  if (whyNoPostgres() !== undefined) return undefined
  const server = await startPostgres()
  const url = await server.createDatabase()
  return { name: 'PostgreSQL', settings: { TABBAT_DATABASE_URL: url }, close: server.stop }
}

async function importFile({ name, settings }: Engine, file: string): Promise<Imported> {
  const dataDir = join(folder, name)
  mkdirSync(dataDir, { recursive: true })
  const args = ['import', 'nin', file, '--json']
  const { stdout, ...used } = await runMeasured(args, { TABBAT_DATA_DIR: dataDir, ...settings })
  // The seconds that it reports are those of the import, without the start of the program.
  return { ...used, ...(JSON.parse(stdout) as { records: number; seconds: number }) }
}

function toRow(engine: string, run: string, { records, seconds, cpuSeconds, peakMb }: Imported): string[] {
  return [
    engine,
    run,
    (records / seconds).toFixed(0),
    seconds.toFixed(1),
    cpuSeconds.toFixed(1),
    `${peakMb.toFixed(0)} MB`,
  ]
}
