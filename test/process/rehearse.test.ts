import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { type Finished, newDataDir, type Settings, TABBAT, tabbat } from './tabbat.ts'

/** A rehearsal takes some minutes, and longer on a busy machine. */
const TIMEOUT = { timeout: 900_000 }

/** Vendors at their real addresses: a rehearsal must not call them. */
const VENDORS = {
  TABBAT_NIN_SOURCES: 'dojah,prembly',
  TABBAT_DOJAH_APP_ID: 'not-an-account',
  TABBAT_DOJAH_SECRET: 'not-a-secret',
  TABBAT_DOJAH_PRICE: '50',
  TABBAT_PREMBLY_API_KEY: 'not-a-key',
}

type Exercise = {
  readonly name: string
  readonly status: string
  readonly checks: readonly { readonly expected: string; readonly seen: string; readonly ok: boolean }[]
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-rehearse-test-'))

/** Its temporary files are in a folder of their own, so that what it leaves is seen. */
async function rehearse(
  settings: Settings,
  ...args: string[]
): Promise<Finished & { exercises: Exercise[]; left: string[] }> {
  const TMPDIR = newFolder()
  const finished = await tabbat({ ...settings, TMPDIR }, 'rehearse', '--json', ...args)
  const { exercises = [] } = finished.stdout === '' ? {} : JSON.parse(finished.stdout)
  return { ...finished, exercises, left: readdirSync(TMPDIR) }
}

const wrongOf = (exercises: readonly Exercise[]) =>
  exercises
    .filter(({ status }) => status !== 'as_expected' && status !== 'skipped')
    .map(({ name, status, checks }) => ({ name, status, wrong: checks.filter(({ ok }) => !ok) }))
const namesWith = (exercises: readonly Exercise[], status: string) =>
  exercises.filter((exercise) => exercise.status === status).map(({ name }) => name)

/** A data folder with people, a key, and an endpoint of webhooks that has something waiting. */
async function fillData(settings: Settings, hookUrl: string): Promise<void> {
  const own = { ...settings, TABBAT_WEBHOOKS_PRIVATE: 'on' }
  await tabbat(own, 'import', 'nin', 'docs/examples/nin.ndjson')
  await tabbat(own, 'keys', 'create', '--name', 'shop', '--mode', 'live')
  const all = 'verification.completed,source.down,source.up,audit.checkpoint,catalogue.changed'
  await tabbat(own, 'webhooks', 'create', '--name', 'ops', '--url', hookUrl, '--event', all)
  // Each signs a checkpoint, which waits for the endpoint.
  await tabbat(own, 'keys', 'create', '--name', 'second', '--mode', 'test')
}

let filled: Promise<string> | undefined

/** A copy of one SQLite folder that was filled once: to fill one takes five commands. */
async function copyFilled(): Promise<{ readonly TABBAT_DATA_DIR: string }> {
  filled ??= (async () => {
    const TABBAT_DATA_DIR = newDataDir()
    await fillData({ TABBAT_DATA_DIR }, 'http://127.0.0.1:9/hooks')
    return TABBAT_DATA_DIR
  })()
  const TABBAT_DATA_DIR = newDataDir()
  cpSync(await filled, TABBAT_DATA_DIR, { recursive: true })
  return { TABBAT_DATA_DIR }
}

const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address

/** Counts what arrives at an address of this machine that is not loopback, as a real receiver or collector would have. */
async function startOutside() {
  let connections = 0
  const server = createServer((_request, response) => response.end())
  server.on('connection', () => {
    connections += 1
  })
  await once(server.listen(0, '0.0.0.0'), 'listening')
  const url = `http://${outside ?? '127.0.0.2'}:${(server.address() as AddressInfo).port}`
  return { url, count: () => connections, close: () => void server.close() }
}

describe.concurrent('tabbat rehearse', () => {
  it(
    'makes every exercise on a copy of a SQLite folder with two vendors, reaches nobody, and leaves nothing',
    TIMEOUT,
    async () => {
      const elsewhere = await startOutside()
      const data = { ...VENDORS, TABBAT_DATA_DIR: newDataDir() }
      await fillData(data, `${elsewhere.url}/hooks`)
      const before = readFileSync(join(data.TABBAT_DATA_DIR, 'tabbat.db'))
      const report = newFolder()
      const linked = join(newFolder(), 'other')
      symlinkSync(linked, join(report, 'report.html'))
      const settings = { ...data, OTEL_EXPORTER_OTLP_ENDPOINT: elsewhere.url, TABBAT_SOURCES_PRIVATE: 'on' }
      const { code, exercises, left, stderr } = await rehearse(settings, '--report', report)
      expect(wrongOf(exercises), stderr).toEqual([])
      expect(code).toBe(0)
      expect(namesWith(exercises, 'skipped')).toEqual(['postgres-cut', 'postgres-silent', 'failover'])
      expect(exercises).toHaveLength(14)
      expect(left).toEqual([])
      expect(elsewhere.count()).toBe(0)
      // The data itself is only read.
      expect(readFileSync(join(data.TABBAT_DATA_DIR, 'tabbat.db')).equals(before)).toBe(true)
      expect(readdirSync(report).toSorted()).toEqual(['report.html', 'report.json'])
      const page = readFileSync(join(report, 'report.html'), 'utf8')
      expect(lstatSync(join(report, 'report.html')).isSymbolicLink()).toBe(false)
      // Neither numbers and phones, nor keys and secrets.
      expect(page).not.toMatch(/\b\d{11}\b|tbt_live_|whsec_|not-a-/)
      elsewhere.close()
    },
  )

  it.runIf(hasPostgres())(
    'makes those of PostgreSQL on a database that is called a copy',
    TIMEOUT,
    async () => {
      const databaseUrl = await createTestDatabase()
      const settings = { ...VENDORS, TABBAT_DATA_DIR: newDataDir() }
      await fillData({ ...settings, TABBAT_DATABASE_URL: databaseUrl }, 'http://127.0.0.1:9/hooks')
      // Two ways to one server, as through two proxies: one is cut off.
      const twice = databaseUrl.replace(/@([^/]*?)127\.0\.0\.1:(\d+)\//, '@$1127.0.0.1:$2,localhost:$2/')
      const skipped = ['vendor-slow', 'vendor-wrong', 'vendor-no-funds']
      const file = join(newFolder(), 'copy.url')
      writeFileSync(file, `${twice}\n`, { mode: 0o600 })
      const named = ['--database-url-file', file, '--yes-on-a-copy', '--skip', ...skipped]
      const { code, exercises, left, stdout, stderr } = await rehearse(settings, ...named)
      expect(wrongOf(exercises), stderr).toEqual([])
      expect(code).toBe(0)
      expect(stdout).toContain('A restore into PostgreSQL was not rehearsed.')
      expect(namesWith(exercises, 'skipped')).toEqual(['database-locked', 'disk-failing'])
      expect(namesWith(exercises, 'as_expected')).toContain('postgres-silent')
      expect(left).toEqual([])
    },
  )
})

it('makes the faults of a single vendor of BVNs by the file of the operator', TIMEOUT, async () => {
  const TABBAT_VENDORS_DIR = newFolder()
  cpSync('vendors/blusalt.json', join(TABBAT_VENDORS_DIR, 'acme.json'))
  const credentials = {
    TABBAT_ACME_CLIENT_ID: 'not-an-id',
    TABBAT_ACME_APP_NAME: 'not-a-name',
    TABBAT_ACME_API_KEY: 'not-a-key',
  }
  const settings = { ...(await copyFilled()), ...credentials, TABBAT_VENDORS_DIR, TABBAT_BVN_SOURCES: 'acme' }
  const { code, exercises, stderr, left } = await rehearse(settings, '--only', 'vendor-down')
  expect(wrongOf(exercises), stderr).toEqual([])
  const expected = exercises.flatMap(({ checks }) => checks.map((check) => check.expected))
  expect(expected).toContain('acme: reset: callers get 503 source_unavailable, and never "not verified"')
  expect(expected).toContain('it is verified when the vendor is back')
  expect([code, left]).toEqual([0, []])
})

it.runIf(hasPostgres())('could not run failover if the command replaces no server', TIMEOUT, async () => {
  const databaseUrl = await createTestDatabase()
  const named = ['--database-url', databaseUrl, '--yes-on-a-copy', '--only', 'failover']
  const settings = { TABBAT_DATA_DIR: newDataDir() }
  await fillData({ ...settings, TABBAT_DATABASE_URL: databaseUrl }, 'http://127.0.0.1:9/hooks')
  const { code, exercises, stdout } = await rehearse(settings, ...named, '--failover-command', 'true')
  expect(stdout).toContain('the same server is the primary')
  expect(namesWith(exercises, 'could_not_run')).toEqual(['failover'])
  expect(code).toBe(2)
})

describe.concurrent('a rehearsal with something wrong', () => {
  let data: Settings
  let backup = ''

  beforeAll(async () => {
    data = await copyFilled()
    backup = join(newFolder(), 'tabbat.backup')
    await tabbat(data, 'backup', backup)
  }, TIMEOUT.timeout)

  it('restores a backup that is whole, and says how old it is', TIMEOUT, async () => {
    const { code, stdout } = await rehearse(data, '--backup', backup, '--only', 'restore')
    expect(code).toBe(0)
    expect(stdout).toMatch(/The backup is of 20\d\d-[^"]* old/)
  })

  it(
    'restores it into SQLite for servers on PostgreSQL, which it does not touch, and keeps it with --keep',
    TIMEOUT,
    async () => {
      const live = { ...data, TABBAT_DATABASE_URL: 'postgres://127.0.0.1:9/live' }
      const { code, stdout, stderr, left } = await rehearse(
        live,
        ...['--backup', backup, '--keep', '--only', 'restore'],
      )
      expect(code, stderr).toBe(0)
      expect(stdout).toContain('A restore into PostgreSQL was not rehearsed.')
      expect(stderr).toMatch(/Copied: the backup of 20\d\d-.*, restored into SQLite\./)
      const [, kept = ''] = /The copy is kept in (\S+)\./.exec(stderr) ?? []
      expect(left).toEqual([basename(kept)])
      expect(readdirSync(join(kept, 'data'))).toContain('tabbat.db')
    },
  )

  it('says that a backup is damaged, with exit code 1', TIMEOUT, async () => {
    const bytes = readFileSync(backup)
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 40) ^ 1, bytes.length - 40)
    const damaged = join(newFolder(), 'tabbat.backup')
    writeFileSync(damaged, bytes)
    const { code, exercises, left } = await rehearse(data, '--backup', damaged, '--only', 'restore')
    expect(code).toBe(1)
    expect(wrongOf(exercises)).toMatchObject([
      { name: 'restore', status: 'differed', wrong: [{ expected: 'the backup can be restored (yours)' }] },
    ])
    expect(left).toEqual([])
  })

  it('ends with exit code 2 if an exercise that was named is skipped', TIMEOUT, async () => {
    const named = ['--only', 'tampered-log', 'failover']
    const { code, exercises, stdout } = await rehearse(data, ...named)
    expect(namesWith(exercises, 'as_expected')).toEqual(['tampered-log'])
    expect(namesWith(exercises, 'skipped')).toEqual(['failover'])
    expect(stdout).toContain('The copy is on SQLite')
    expect(code).toBe(2)
  })

  it('names a truncated backup beside one that it restores, with exit code 1', TIMEOUT, async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'tabbat-1.backup'), readFileSync(backup))
    writeFileSync(join(folder, 'tabbat-2.backup'), readFileSync(backup).subarray(0, 12))
    const { code, exercises } = await rehearse(data, '--backup', folder, '--only', 'restore')
    expect(code).toBe(1)
    const [restore] = exercises
    expect(restore?.checks.filter(({ ok }) => !ok)).toEqual([
      expect.objectContaining({
        expected: 'every backup in the folder can be read',
        seen: expect.stringMatching(/: tabbat-2\.backup$/),
      }),
    ])
    expect(restore?.checks.map(({ expected }) => expected)).toContain('its audit log is whole')
  })

  it('says that a row is missing from the audit log, with exit code 1', TIMEOUT, async () => {
    const own = await copyFilled()
    const database = new DatabaseSync(join(own.TABBAT_DATA_DIR, 'tabbat.db'))
    database.exec('DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE sequence = 2')
    database.close()
    const { code, exercises } = await rehearse(own, '--only', 'tampered-log')
    expect(code).toBe(1)
    expect(wrongOf(exercises)).toMatchObject([
      { name: 'tampered-log', status: 'differed', wrong: [{ expected: 'the log is whole before' }] },
    ])
  })

  /** A server that answers every request as verified. Returns the arguments to rehearse on it, and its end. */
  async function startStaging() {
    let asked = 0
    const server = createServer((_request, response) => {
      const data = { request_reference: `ver_${++asked}`, verification_status: 'VERIFIED' }
      response.end(JSON.stringify({ success: true, data }))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const keyFile = join(newFolder(), 'test.key')
    writeFileSync(keyFile, 'tbt_test_sandbox0EveryNumberWorksInTheTestSandbox1yrrmt\n', { mode: 0o600 })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return {
      named: ['--url', url, '--key-file', keyFile, '--yes-on-a-copy', '--only'],
      close: () => void server.close(),
    }
  }

  it(
    'writes nothing to the report of what a command said that failed: a password may be in it',
    TIMEOUT,
    async () => {
      const { named, close } = await startStaging()
      const report = newFolder()
      const command = 'echo "login failed: canary-hunter2" >&2; exit 3'
      const more = ['--failover-command', command, '--report', report]
      const { code, exercises, stdout, stderr } = await rehearse({}, ...named, 'failover', ...more)
      close()
      expect(code).toBe(2)
      expect(namesWith(exercises, 'could_not_run')).toEqual(['failover'])
      expect(stderr).toContain('login failed: canary-hunter2')
      const files = ['report.json', 'report.html'].map((name) => readFileSync(join(report, name), 'utf8'))
      for (const text of [stdout, ...files]) {
        expect(text).toContain('The command of --failover-command failed with exit code 3.')
        expect(text).not.toContain('canary')
      }
    },
  )

  it('says that a server accepts every key, with exit code 1', TIMEOUT, async () => {
    const { named, close } = await startStaging()
    const { code, exercises } = await rehearse({}, ...named, 'wrong-key', 'answers')
    close()
    expect(code).toBe(1)
    expect(wrongOf(exercises)).toMatchObject([{ name: 'wrong-key', wrong: [{ seen: 'status 200' }, {}] }])
  })
})

describe.concurrent('tabbat rehearse refuses, with exit code 2 and one sentence,', () => {
  it.each([
    ['a folder without a database', [], /^error: There is no database at .*\n$/],
    [
      'an unknown exercise',
      ['--only', 'war'],
      /^error: There is no such exercise\. Choose from: vendor-down, .*\n$/,
    ],
    ['nothing that is left', ['--only', 'kill', '--skip', 'kill'], /^error: No exercise is left\..*\n$/],
    [
      'a database that nobody called a copy',
      ['--database-url', 'postgres://127.0.0.1/live'],
      /^error: The exercises change the database of --database-url\. .*--yes-on-a-copy\.\n$/,
    ],
    ['a server that nobody called staging', ['--url', 'https://x.example'], /^error: .*--yes-on-a-copy\.\n$/],
    [
      'a server over plain http',
      ['--url', 'http://x.example'],
      /^error: --url must be .*plain http is for this machine\.\n$/,
    ],
    [
      'an address of a database that cannot be read, without printing its password',
      ['--database-url', 'postgres//ada:hunter2@x/y', '--yes-on-a-copy'],
      /^error: The address of the copy must be a URL such as postgres:\/\/user:password@host:5432\/database\.\n$/,
    ],
    [
      'a file that is not there',
      ['--database-url-file', '/nowhere.url', '--yes-on-a-copy'],
      /^error: The file \/nowhere\.url with the address cannot be read\..*\n$/,
    ],
    [
      'a copy of data with a server to ask from outside',
      ['--url', 'https://x.example', '--backup', '/backups', '--yes-on-a-copy'],
      /^error: --backup does not go with --url: .*\n$/,
    ],
    [
      'a key without a server to ask',
      ['--key-file', 'x.key'],
      /^error: --key-file goes with --url only: .*\n$/,
    ],
    [
      'a command for a failover on SQLite',
      ['--failover-command', 'true'],
      /^error: --failover-command needs --database-url, .*\n$/,
    ],
    [
      'a command for a failover that is left out',
      ['--url', 'https://x.example', '--yes-on-a-copy', '--failover-command', 'true', '--skip', 'failover'],
      /^error: --failover-command is for the exercise failover, which --only or --skip leaves out\. .*\n$/,
    ],
    [
      'an address of a server with a path',
      ['--url', 'https://x.example/tabbat', '--yes-on-a-copy'],
      /^error: --url must be the address of a server, without a path.*\n$/,
    ],
    [
      'an address of a server with a password, which is not printed',
      ['--url', 'https://ada:hunter2@x.example', '--yes-on-a-copy'],
      /^error: --url must be the address of a server, without a path, a query or a user\. (?!.*hunter2).*\n$/,
    ],
    ['a missing backup', ['--backup', '/nowhere.backup'], /There is no backup at \/nowhere\.backup\./],
    [
      'a report in a place that is no folder',
      ['--report', '/dev/null/x'],
      /^error: A part of \/dev\/null\/x is a file\. Name another folder with --report\.\n$/,
    ],
  ] as const)('%s', async (_what, args, sentence) => {
    // A database is missing in the first case only.
    const settings = args.length > 0 ? await copyFilled() : { TABBAT_DATA_DIR: newDataDir() }
    const { code, stderr, left } = await rehearse(settings, ...args)
    expect(stderr.replace(/^Database: .*\n/, '')).toMatch(sentence)
    expect(code).toBe(2)
    expect(left).toEqual([])
  })

  it('servers on PostgreSQL without a copy or a backup, because their database may be live', async () => {
    const settings = { ...(await copyFilled()), TABBAT_DATABASE_URL: 'postgres://127.0.0.1:9/live' }
    const { code, stderr, left } = await rehearse(settings)
    expect([code, stderr]).toEqual([2, expect.stringContaining('TABBAT_DATABASE_URL may name live data.')])
    expect(left).toEqual([])
  })

  it('a temporary folder that is not there', async () => {
    const settings = await copyFilled()
    const { code, stderr } = await tabbat({ ...settings, TMPDIR: '/nowhere' }, 'rehearse')
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('The temporary folder /nowhere cannot be used (ENOENT)'),
    ])
  })

  it('a report in a folder to which others can write: they could plant links there', async () => {
    const settings = await copyFilled()
    const report = newFolder()
    chmodSync(report, 0o777)
    const { code, stderr } = await rehearse(settings, '--report', report)
    expect([code, stderr]).toEqual([2, expect.stringContaining(`can write to ${report}`)])
  })

  it('a live key for a staging server, because vendors would be paid', async () => {
    const keyFile = join(newFolder(), 'live.key')
    writeFileSync(keyFile, 'tbt_live_0000\n', { mode: 0o600 })
    const args = ['--url', 'https://x.example', '--key-file', keyFile, '--yes-on-a-copy']
    const { code, stderr } = await rehearse({}, ...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining('must be a test key')])
  })

  it('a PostgreSQL database on which a server runs, whatever is confirmed', async () => {
    if (!hasPostgres()) return
    const databaseUrl = await createTestDatabase()
    const settings = { TABBAT_DATA_DIR: newDataDir() }
    const own = { ...settings, TABBAT_DATABASE_URL: databaseUrl, TABBAT_LOG_LEVEL: 'silent' }
    const { startServer } = await import('./tabbat.ts')
    const server = await startServer(own)
    const named = ['--database-url', databaseUrl, '--yes-on-a-copy']
    const { code, stderr } = await rehearse(settings, ...named)
    await server.stop()
    expect([code, stderr]).toEqual([2, expect.stringContaining('A server is running on that database')])
    expect(stderr).toMatch(/^Database: PostgreSQL /)
  })
})

/** A rehearsal that has made its copy. */
async function startCopied() {
  const TMPDIR = newFolder()
  const data = await copyFilled()
  const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), TMPDIR, ...data }
  const child = spawn(TABBAT.file, ['rehearse', '--only', 'database-locked'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit')
  const { promise: copied, resolve } = Promise.withResolvers<void>()
  child.stderr.on('data', (piece) => String(piece).includes('Copied') && resolve())
  await copied
  return { child, exited, TMPDIR }
}

it('Ctrl-C ends the server on the copy, and deletes the copy', TIMEOUT, async () => {
  const { child, exited, TMPDIR } = await startCopied()
  const [copy = ''] = readdirSync(TMPDIR)
  await expect.poll(() => readdirSync(join(TMPDIR, copy, 'data'))).toContain('tabbat.db-wal')
  child.kill('SIGINT')
  expect(await exited).toEqual([130, null])
  expect(readdirSync(TMPDIR)).toEqual([])
})

it('kill -9 ends the server on the copy, too', TIMEOUT, async () => {
  const { child } = await startCopied()
  /** Without those that have ended, and wait for their parent. */
  const listProcesses = () =>
    execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='], { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , stat]) => stat !== undefined && !stat.startsWith('Z'))
  const findServer = () =>
    listProcesses().find(([, parent, , ...args]) => parent === String(child.pid) && args.at(-1) === 'serve')
  await expect.poll(findServer).toBeDefined()
  const [server] = findServer() ?? []
  child.kill('SIGKILL')
  await expect.poll(() => listProcesses().some(([pid]) => pid === server)).toBe(false)
})

it(
  'a reader that goes away after the first line ends it with exit code 2, and the copy is deleted all the same',
  TIMEOUT,
  async () => {
    const TMPDIR = newFolder()
    const data = await copyFilled()
    const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), TMPDIR, ...data }
    const child = spawn(TABBAT.file, ['rehearse', '--only', 'revoked-key', 'kill'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.once('data', () => child.stdout.destroy())
    child.stderr.destroy()
    expect(await once(child, 'exit')).toEqual([2, null])
    expect(readdirSync(TMPDIR)).toEqual([])
  },
)
