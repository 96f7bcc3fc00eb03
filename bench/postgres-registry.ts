import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execute, hasOwnPostgres, type Postgres, startPostgres, whyNoPostgres } from '../test/postgres.ts'
import type { Checkout } from './checkout.ts'
import { cores, move } from './cores.ts'
import { readTree } from './processes.ts'
import { cacheFolder, fillRegistry, openPeople, type Registry, readKey, settle } from './registry.ts'

type PostgresRegistry = Registry & {
  readonly url: string
  /** The first process of PostgreSQL, where it is one of ours. */
  readonly pid: number | undefined
  readonly stop: () => Promise<void>
}

/** A filled registry in PostgreSQL, or the reason why there is none. */
export async function openPostgresRegistry(
  checkout: Checkout,
  folder: string,
  records: number,
  progress: (line: string) => void,
): Promise<PostgresRegistry | string> {
  const missing = whyNoPostgres()
  if (missing !== undefined) return missing
  const postgres = await startPostgres()
  const dataDir = join(folder, `live-postgres-${checkout.name}`)
  const isOurs = process.env.TABBAT_TEST_DATABASE_URL === undefined && hasOwnPostgres()
  const url = await (isOurs
    ? openCached(checkout, postgres, dataDir, records, progress)
    : fill(checkout, postgres, dataDir, records, progress))
  const pid = isOurs ? await bindToServerCore(postgres) : undefined
  settle()
  return { dataDir, key: readKey(dataDir), url, pid, stop: postgres.stop }
}

async function fill(
  checkout: Checkout,
  postgres: Postgres,
  dataDir: string,
  records: number,
  progress: (line: string) => void,
) {
  progress(`filling PostgreSQL with ${records} records`)
  const url = await postgres.createDatabase()
  await fillRegistry(checkout, dataDir, await openPeople(dirname(dataDir), records), {
    TABBAT_DATABASE_URL: url,
  })
  await execute(url, 'CHECKPOINT')
  return url
}

/** The files of a stopped, filled server are kept and copied into the next run's server. */
async function openCached(
  checkout: Checkout,
  postgres: Postgres,
  dataDir: string,
  records: number,
  progress: (line: string) => void,
) {
  const cached = join(cacheFolder(checkout, records), `postgres-${await readVersion(postgres)}`)
  const cluster = await readCluster(postgres)
  if (existsSync(cached)) {
    await postgres.crash()
    copy(join(cached, 'cluster'), cluster)
    copy(join(cached, 'data'), dataDir)
    await postgres.restart()
    return Object.assign(new URL(postgres.url), { pathname: readFileSync(join(cached, 'name'), 'utf8') }).href
  }
  const url = await fill(checkout, postgres, dataDir, records, progress)
  await postgres.crash()
  const half = `${cached}.${process.pid}`
  mkdirSync(half, { recursive: true })
  copy(cluster, join(half, 'cluster'))
  copy(dataDir, join(half, 'data'))
  writeFileSync(join(half, 'name'), new URL(url).pathname)
  renameSync(half, cached)
  await postgres.restart()
  return url
}

/** With owners and rights, which PostgreSQL insists on. */
function copy(from: string, to: string): void {
  execFileSync('rm', ['-rf', to])
  execFileSync('cp', ['-a', from, to])
}

async function bindToServerCore(postgres: Postgres): Promise<number> {
  const pid = await readPostgresPid(postgres)
  move(
    cores.server,
    readTree(pid).map((each) => each.pid),
  )
  return pid
}

/** The first process of a server on this machine. */
export const readPostgresPid = async (postgres: Postgres) =>
  Number(readFileSync(join(await readCluster(postgres), 'postmaster.pid'), 'utf8').split('\n')[0])

const readCluster = async ({ url }: Postgres) =>
  String((await execute(url, 'SHOW data_directory'))[0]?.data_directory)
const readVersion = async ({ url }: Postgres) =>
  String((await execute(url, 'SHOW server_version'))[0]?.server_version)
