import { execFileSync } from 'node:child_process'
import { accessSync, chownSync, constants, globSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '../free-port.ts'
import { childrenOf } from '../process/tabbat.ts'
import { type RunningProgram, runInBackground } from './programs.ts'

/** A PostgreSQL server and the Patroni that manages it, as one machine would run them. */
export type Member = {
  readonly name: string
  readonly dataDir: string
  readonly port: number
  readonly restPort: number
  /** The variables of its Patroni. */
  readonly environment: Readonly<Record<string, string>>
  /** The last lines of Patroni. */
  readonly output: () => string
  /** The process id of PostgreSQL. */
  readonly pid: () => number | undefined
  /** Starts the machine, with what is on its disk. */
  readonly start: () => void
  /** Patroni stops PostgreSQL, and ends. */
  readonly stop: () => Promise<void>
  /** A new machine in its place, with an empty disk: it copies the data of the primary. */
  readonly replace: () => void
  /** kill -9 of PostgreSQL; with `machine` also of Patroni. */
  readonly kill: (what: 'postgres' | 'machine') => Promise<void>
  /** SIGSTOP of Patroni; with `machine` also of PostgreSQL. Returns what lets them run again. */
  readonly pause: (what: 'patroni' | 'machine') => Promise<() => void>
}

export const PASSWORD = 'battery'
const REST_USER = 'patroni'
export const BIN_DIR = globSync('/usr/lib/postgresql/*/bin/pg_rewind')
  .sort()
  .at(-1)
  ?.replace('/pg_rewind', '')

/** The folder of the socket in deploy/patroni/patroni.yaml. */
const SOCKET_DIR = '/var/run/postgresql'

/** As Debian's unit of Patroni does: its account may write the folder of the socket. */
export const account = process.getuid?.() === 0 ? { uid: toId('-u'), gid: toId('-g') } : {}

function toId(which: '-u' | '-g'): number | undefined {
  try {
    return Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8', stdio: 'pipe' }))
  } catch {
    return undefined
  }
}

/** Why members cannot run on this machine; undefined when they can. */
export function whyNoMember(): string | undefined {
  if (BIN_DIR === undefined) return 'PostgreSQL with pg_rewind is not in /usr/lib/postgresql'
  if (process.getuid?.() === 0) return account.uid === undefined ? 'there is no account postgres' : undefined
  try {
    accessSync(SOCKET_DIR, constants.W_OK)
    return undefined
  } catch {
    return `${SOCKET_DIR} cannot be written`
  }
}

/** Sends a change to the REST API of Patroni. */
export async function sendToPatroni(
  { restPort }: Pick<Member, 'restPort'>,
  method: string,
  path: string,
  body: object,
): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${restPort}/${path}`, {
    method,
    headers: { authorization: AUTHORIZATION },
    body: JSON.stringify(body),
  })
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`)
}

export const AUTHORIZATION = `Basic ${btoa(`${REST_USER}:${PASSWORD}`)}`

/** More environment of a member, and so of its PostgreSQL. */
export type MemberEnvironment = (member: Pick<Member, 'dataDir' | 'port'>) => Record<string, string>

export async function createMember(
  folder: string,
  number: number,
  etcd: Readonly<Record<string, string>>,
  toEnvironment: MemberEnvironment,
): Promise<Member> {
  const name = `postgres${number}`
  const [port, restPort] = [await findFreePort(), await findFreePort()]
  const home = newFolder(join(folder, name))
  const data = join(home, 'data')
  const env: Record<string, string> = {
    ...toEnvironment({ dataDir: data, port }),
    ...etcd,
    HOME: home,
    PATRONI_NAME: name,
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
    RESTAPI: REST_USER,
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
    environment: env,
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
      for (const pid of await processesOf(readPid(data))) signalIfThere(pid, 'SIGKILL')
    },
    pause: async (what) => {
      const postgres = what === 'machine' ? await processesOf(readPid(data)) : []
      const pids = [...(await processesOf(patroni?.child.pid)), ...postgres]
      for (const pid of pids) signalIfThere(pid, 'SIGSTOP')
      return () => {
        for (const pid of pids) signalIfThere(pid, 'SIGCONT')
      }
    },
  }
}

/** A process and its children. */
const processesOf = async (pid: number | undefined) =>
  pid === undefined ? [] : [pid, ...(await childrenOf(pid))]

export function signalIfThere(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal)
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
  if (account.uid !== undefined && account.gid !== undefined) chownSync(path, account.uid, account.gid)
  return path
}
