import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execute, hasOwnPostgres, startOwnPostgres } from '../postgres.ts'
import { newDataDir, type Settings } from '../process/tabbat.ts'

/** A reason why a running server cannot write its audit log. */
type Cause = {
  readonly name: string
  /** Why this machine cannot produce it. */
  readonly missing: string | undefined
  readonly prepare: () => Promise<Prepared>
}

export type Prepared = {
  readonly settings: Settings
  /** Starts the cause. Returns a function that ends it. */
  readonly begin: (pid: number) => Promise<() => Promise<void>>
  readonly cleanUp: () => Promise<void>
}

const isRoot = process.getuid?.() === 0
const isLinux = process.platform === 'linux'
export const has = (command: string) => {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const inFolder = (begin: (folder: string, pid: number) => Promise<() => Promise<void>>) => async () => {
  const folder = newDataDir()
  return {
    settings: { TABBAT_DATA_DIR: folder },
    begin: (pid: number) => begin(folder, pid),
    cleanUp: async () => rmSync(folder, { recursive: true }),
  }
}

/** A file system of 8 MiB that is full. */
async function prepareFullDisk(): Promise<Prepared> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-full-'))
  const filler = join(folder, 'filler')
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'tmpfs', folder])
  return {
    settings: { TABBAT_DATA_DIR: folder },
    begin: async () => {
      fill(filler)
      return async () => rmSync(filler)
    },
    cleanUp: async () => {
      execFileSync('umount', [folder])
      rmdirSync(folder)
    },
  }
}

function fill(path: string): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(4096, 1), { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/** No file may grow: every write of the process fails with EFBIG. */
async function limitFiles(_folder: string, pid: number): Promise<() => Promise<void>> {
  const limit = (size: string) => execFileSync('prlimit', ['--pid', String(pid), `--fsize=${size}:`])
  limit('1')
  return async () => void limit('unlimited')
}

/** fsync and fdatasync fail with EIO. */
async function failSync(_folder: string, pid: number): Promise<() => Promise<void>> {
  const calls = 'fsync,fdatasync'
  const strace = spawn(
    'strace',
    ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  await once(strace.stderr, 'data')
  strace.stderr.resume()
  return async () => {
    const ended = once(strace, 'exit')
    strace.kill('SIGINT')
    await ended
  }
}

/** Another process holds the write lock. */
async function lockDatabase(folder: string): Promise<() => Promise<void>> {
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    new DatabaseSync(process.argv[1], { timeout: 5000 }).exec('BEGIN IMMEDIATE')
    console.log('held')
    setInterval(() => {}, 1000)`
  const holder = spawn(process.execPath, ['-e', script, join(folder, 'tabbat.db')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  return async () => {
    const ended = once(holder, 'exit')
    holder.kill('SIGKILL')
    await ended
  }
}

/** The primary dies, and its standby becomes the primary. */
async function prepareFailover(): Promise<Prepared> {
  const postgres = await startOwnPostgres()
  const database = new URL(await postgres.createDatabase())
  const standby = await postgres.startStandby()
  // Each commit is on both before it is confirmed.
  await execute(postgres.url, "ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()')
  const folder = newDataDir()
  const hosts = [postgres.url, standby.url].map((url) => new URL(url).host).join(',')
  return {
    settings: {
      TABBAT_DATA_DIR: folder,
      TABBAT_DATABASE_URL: `postgres://postgres@${hosts}${database.pathname}?target_session_attrs=read-write`,
    },
    begin: async () => {
      await postgres.crash()
      return async () => void (await execute(standby.url, 'SELECT pg_promote()'))
    },
    cleanUp: async () => {
      await standby.stop()
      await postgres.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

async function preparePostgres(): Promise<Prepared> {
  const postgres = await startOwnPostgres()
  const folder = newDataDir()
  return {
    settings: { TABBAT_DATA_DIR: folder, TABBAT_DATABASE_URL: await postgres.createDatabase() },
    begin: async () => {
      await postgres.crash()
      return postgres.restart
    },
    cleanUp: async () => {
      await postgres.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

export const CAUSES: readonly Cause[] = [
  {
    name: 'the disk is full',
    missing: isLinux && isRoot ? undefined : 'only root on Linux can create a small disk',
    prepare: prepareFullDisk,
  },
  {
    name: 'another process holds the database',
    missing: undefined,
    prepare: inFolder(lockDatabase),
  },
  {
    name: 'PostgreSQL is down',
    missing: hasOwnPostgres() ? undefined : 'there is no PostgreSQL in node_modules',
    prepare: preparePostgres,
  },
]

export const FAILOVER: Cause = {
  name: 'a standby of PostgreSQL takes over',
  missing: hasOwnPostgres() ? undefined : 'there is no PostgreSQL in node_modules',
  prepare: prepareFailover,
}

/** Reasons after which the state of the disk is unknown, so the server exits. */
export const DISK_FAILURES: readonly Cause[] = [
  {
    name: 'every write fails',
    missing: has('prlimit') ? undefined : 'there is no prlimit',
    prepare: inFolder(limitFiles),
  },
  {
    name: 'fsync fails',
    missing: has('strace') ? undefined : 'there is no strace',
    prepare: inFolder(failSync),
  },
]
