import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  createWriteStream,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { toNinRecord } from '../src/sources/sandbox/nin-record.ts'
import { CACHE, type Checkout } from './checkout.ts'
import { bind, cores } from './cores.ts'
import { FIRST_NIN, toPhoneCore } from './load/request-spec.ts'
import { toMain } from './servers/tabbat.ts'

/** A filled registry. The folder is a copy that the caller may change. */
export type Registry = { readonly dataDir: string; readonly key: string }

/** Filling takes longer than measuring, so a filled registry is kept until the schema changes. */
export const cacheFolder = (checkout: Checkout, records: number) =>
  join(CACHE, `${records}-${hashMigrations(checkout)}`)

function hashMigrations({ root }: Checkout): string {
  const hash = createHash('sha256')
  // The last folder: of checkouts from before 0.3.0.
  const folders = '{database/{schema,functions,migrations}/*.sql,store/migrations/*.ts}'
  for (const file of globSync(join(root, 'src', folders)).toSorted()) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 8)
}

const KINDS = 1000

/** The people of this run, written once. */
export async function openPeople(folder: string, count: number): Promise<string> {
  const file = join(folder, `people-${count}.ndjson`)
  if (!existsSync(file)) await writePeople(file, count)
  return file
}

/** Records repeat every thousand: generating a million takes longer than importing them. */
async function writePeople(file: string, count: number): Promise<void> {
  const lives = Array.from({ length: Math.min(KINDS, count) }, (_each, index) =>
    toNinRecord(String(FIRST_NIN + index), toPhoneCore(index)),
  )
  const out = createWriteStream(file, { highWaterMark: 1024 * 1024 })
  for (let index = 0; index < count; index++) {
    const life = lives[index % KINDS]
    const personal_info = { ...life?.personal_info, phone_number: `0${toPhoneCore(index)}` }
    const record = { ...life, nin_number: String(FIRST_NIN + index), personal_info }
    if (!out.write(`${JSON.stringify(record)}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
}

/** Runs the program itself on all cores: imports, and makes a live key. */
export async function fillRegistry(
  checkout: Checkout,
  dataDir: string,
  people: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  mkdirSync(dataDir, { recursive: true })
  const settings = { PATH: process.env.PATH, TABBAT_DATA_DIR: dataDir, ...env }
  const tabbat = (...words: string[]) => {
    const [command, args] = bind(cores.all, [process.execPath, toMain(checkout), ...words])
    const stdio = ['ignore', 'pipe', 'ignore'] as ['ignore', 'pipe', 'ignore']
    return execFileSync(command, args, { cwd: dataDir, env: settings, encoding: 'utf8', stdio })
  }
  tabbat('import', 'nin', people, '--json')
  const limits = ['--subjects-per-day', '999999999', '--scope', 'kyc:nin']
  const made = JSON.parse(tabbat('keys', 'create', '--name', 'bench', '--mode', 'live', ...limits, '--json'))
  writeFileSync(join(dataDir, 'bench.key'), String(made.key))
}

/** A copy of a filled data folder with SQLite. */
export async function openSqliteRegistry(
  checkout: Checkout,
  folder: string,
  records: number,
  progress: (line: string) => void,
): Promise<Registry> {
  const cached = join(cacheFolder(checkout, records), 'sqlite')
  if (!existsSync(cached)) {
    progress(`filling SQLite with ${records} records, kept in ${cacheFolder(checkout, records)}`)
    const half = `${cached}.${process.pid}`
    await fillRegistry(checkout, half, await openPeople(folder, records))
    renameSync(half, cached)
  }
  const dataDir = join(folder, `live-${checkout.name}`)
  cpSync(cached, dataDir, { recursive: true })
  settle()
  return { dataDir, key: readKey(dataDir) }
}

export const readKey = (dataDir: string) => readFileSync(join(dataDir, 'bench.key'), 'utf8')

/** Flushes the disk caches, so that no earlier write runs during a measurement. */
export function settle(): void {
  execFileSync('sync')
}
