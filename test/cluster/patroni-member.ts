import { execFileSync } from 'node:child_process'
import { chownSync, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { account, findFreePort } from '../postgres.ts'
import { childrenOf } from '../process/tabbat.ts'
import { type RunningProgram, runInBackground } from './programs.ts'

/** A PostgreSQL server and the Patroni that manages it, as one machine would run them. */
export type Member = {
  readonly name: string
  readonly dataDir: string
  readonly port: number
  readonly restPort: number
  /** The last lines of Patroni. */
  readonly output: () => string
  /** The process id of PostgreSQL. */
  readonly pid: () => number | undefined
  readonly start: () => void
  /** Patroni stops PostgreSQL, and ends. */
  readonly stop: () => Promise<void>
  /** A new machine in its place, with an empty disk: it copies the data of the primary. */
  readonly replace: () => void
  /** kill -9 of PostgreSQL; with `machine` also of Patroni. */
  readonly kill: (what: 'postgres' | 'machine') => Promise<void>
}

export const PASSWORD = 'battery'
export const BIN_DIR = globSync('/usr/lib/postgresql/*/bin/pg_rewind')
  .sort()
  .at(-1)
  ?.replace('/pg_rewind', '')

/** More environment of a member, and so of its PostgreSQL. */
export type MemberEnvironment = (member: Pick<Member, 'dataDir' | 'port'>) => Record<string, string>

export async function createMember(
  folder: string,
  number: number,
  etcd: string,
  toEnvironment: MemberEnvironment,
): Promise<Member> {
  const name = `postgres${number}`
  const [port, restPort] = [await findFreePort(), await findFreePort()]
  const home = newFolder(join(folder, name))
  const data = join(home, 'data')
  const env: Record<string, string> = {
    ...toEnvironment({ dataDir: data, port }),
    HOME: home,
    PATRONI_NAME: name,
    PATRONI_ETCD3_HOSTS: etcd,
    PATRONI_POSTGRESQL_DATA_DIR: data,
    PATRONI_POSTGRESQL_BIN_DIR: BIN_DIR ?? '',
    PATRONI_POSTGRESQL_PGPASS: join(home, 'pgpass'),
  }
  for (const role of ['LISTEN', 'CONNECT_ADDRESS']) {
    env[`PATRONI_POSTGRESQL_${role}`] = `127.0.0.1:${port}`
    env[`PATRONI_RESTAPI_${role}`] = `127.0.0.1:${restPort}`
  }
  for (const [role, user] of Object.entries({
    SUPERUSER: 'postgres',
    REPLICATION: 'replicator',
    REWIND: 'rewinder',
  })) {
    env[`PATRONI_${role}_USERNAME`] = user
    env[`PATRONI_${role}_PASSWORD`] = PASSWORD
  }
  let patroni: RunningProgram | undefined
  const start = () => {
    patroni = runInBackground('patroni', ['deploy/patroni/patroni.yaml'], { ...account, env })
  }
  return {
    name,
    dataDir: data,
    port,
    restPort,
    output: () => patroni?.output().slice(-3000) ?? '',
    pid: () => readPid(data),
    start,
    stop: async () => patroni?.stop(),
    replace: () => {
      rmSync(data, { recursive: true, force: true })
      start()
    },
    kill: async (what) => {
      if (what === 'machine') await patroni?.stop('SIGKILL')
      await killPostgres(data)
    },
  }
}

async function killPostgres(data: string): Promise<void> {
  const pid = readPid(data)
  if (pid === undefined) return
  for (const each of [pid, ...(await childrenOf(pid))]) killIfThere(each)
}

export function killIfThere(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** Undefined if it does not run: a file that a killed server left may name the process of another program. */
function readPid(data: string): number | undefined {
  try {
    const [pid = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    const command = execFileSync('ps', ['-p', pid, '-o', 'args='], { encoding: 'utf8' })
    return command.includes(data) ? Number(pid) : undefined
  } catch {
    return undefined
  }
}

/** Owned by the account that runs PostgreSQL. */
export function newFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  if (account.uid !== undefined) chownSync(path, account.uid, account.gid)
  return path
}
