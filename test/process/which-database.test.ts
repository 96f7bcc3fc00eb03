import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { hasPostgres } from '../postgres.ts'
import { tabbat as tabbatWith } from '../registry/run.ts'
import { type Engine, newSettings } from '../registry/sealed-registry.ts'
import { runProgram, type Settings, startServer, TABBAT } from './tabbat.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'tabbat-where-')))
afterAll(() => rmSync(root, { recursive: true }))

let folders = 0
function newFolder(name = ''): string {
  const folder = join(root, String(++folders), name)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** A port on which nothing answers. */
const QUIET: Settings = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0', TABBAT_LOG_LEVEL: 'silent' }
const BIN = TABBAT.file

const runIn = (cwd: string, args: string[], settings: Settings = {}) =>
  runProgram({ file: BIN, cwd }, { ...QUIET, ...settings }, ...args)

const CREATE = ['keys', 'create', '--name', 'shop', '--mode', 'test', '--json']
const databaseIn = (folder: string) => join(folder, 'data', 'tabbat.db')

describe('every command says which database it uses', () => {
  it('with its whole path, on standard error and in JSON', async () => {
    const folder = newFolder()
    const made = await runIn(folder, CREATE)
    const name = `SQLite ${databaseIn(folder)}`
    expect([made.code, made.stderr.startsWith(`Database: ${name}\n`)]).toEqual([0, true])
    expect(JSON.parse(made.stdout)).toMatchObject({ key: expect.any(String), database: name })
    const listed = await runIn(folder, ['keys', 'list'])
    expect([listed.stderr, listed.stdout.includes('Database')]).toEqual([`Database: ${name}\n`, false])
  })

  it('on standard error where standard output is an array, a stream or a file', async () => {
    const folder = newFolder()
    await runIn(folder, CREATE)
    const commands = [
      ['keys', 'list', '--json'],
      ['admin', 'list', '--json'],
      ['admin', 'invitations', '--json'],
      ['sources', 'status', '--json'],
      ['audit', 'export'],
      ['audit', 'public-key'],
      ['catalogue', 'export'],
    ]
    for (const args of commands) {
      const { code, stderr } = await runIn(folder, args)
      expect([args, code, stderr]).toEqual([args, 0, `Database: SQLite ${databaseIn(folder)}\n`])
    }
  })

  it('and in the field "database" of every JSON object', async () => {
    const folder = newFolder()
    const { id } = JSON.parse((await runIn(folder, CREATE)).stdout)
    const commands = [
      ['registry', 'stats'],
      ['catalogue', 'history'],
      ['catalogue', 'review'],
      ['audit', 'verify'],
      ['backup', join(folder, 'all.backup')],
      ['keys', 'revoke', id],
    ]
    for (const args of commands) {
      const { stdout } = await runIn(folder, [...args, '--json'])
      expect([args, JSON.parse(stdout).database]).toEqual([args, `SQLite ${databaseIn(folder)}`])
    }
  })

  it.skipIf(!hasPostgres())('without the password of PostgreSQL', async () => {
    const settings = await newSettings('postgres' as Engine)
    const { stderr } = await tabbatWith(settings, CREATE)
    const { host, pathname, password } = new URL(settings.TABBAT_DATABASE_URL ?? '')
    expect(stderr).toContain(`Database: PostgreSQL ${host}${pathname}\n`)
    expect(password === '' || !stderr.includes(password)).toBe(true)
  })

  it('and --data-dir, before or after the command, overrides the setting', async () => {
    const [folder, named, other] = [newFolder(), newFolder(), newFolder()]
    expect((await runIn(folder, [...CREATE, '--data-dir', named])).code).toBe(0)
    const { stdout } = await runIn(folder, ['--data-dir', named, 'keys', 'list'], { TABBAT_DATA_DIR: other })
    expect(stdout).toContain('shop')
    expect([existsSync(join(named, 'tabbat.db')), existsSync(databaseIn(folder))]).toEqual([true, false])
    expect((await runIn(folder, ['keys', 'revoke', '--help'])).stdout).toContain('--data-dir')
  })
})

describe('a new database while another one exists', () => {
  it('is not created in a folder below it, unless --data-dir names it', async () => {
    const above = newFolder()
    await runIn(above, CREATE)
    const below = join(above, 'deep', 'er')
    mkdirSync(below, { recursive: true })
    for (const args of [CREATE, ['admin', 'invite', '--url', 'http://x.test'], ['serve']]) {
      const { code, stderr } = await runIn(below, args)
      expect([code, stderr.includes(`but there is one at ${databaseIn(above)}.`)]).toEqual([1, true])
      expect(stderr).toContain('Give --data-dir')
    }
    expect(existsSync(join(below, 'data'))).toBe(false)
    expect((await runIn(below, [...CREATE, '--data-dir', './data'])).code).toBe(0)
    expect(existsSync(databaseIn(below))).toBe(true)
    // Now there is a database here, so it is used.
    expect((await runIn(below, CREATE)).code).toBe(0)
  })

  it('is not created while a server runs on the configured port', async () => {
    const server = await startServer({ TABBAT_LOG_LEVEL: 'silent' })
    try {
      const folder = newFolder()
      const { code, stderr } = await runIn(folder, CREATE, { TABBAT_PORT: new URL(server.url).port })
      expect(code).toBe(1)
      expect(stderr).toContain(`but a server that uses another one is running at ${server.url}.`)
      expect(existsSync(join(folder, 'data'))).toBe(false)
    } finally {
      await server.stop()
    }
  })
})

describe('what cannot be undone needs --yes without a terminal', () => {
  it.each([
    [['registry', 'erase', 'nin'], '12345678901'],
    [['keys', 'rotate-root'], ''],
    [['admin', 'remove', 'ada'], ''],
    [['restore', 'package.json', '--force'], ''],
  ])('tabbat %j', async (args, input) => {
    const settings = await newSettings('sqlite')
    await tabbatWith(settings, CREATE)
    const { code, stderr } = await tabbatWith(settings, args, input)
    expect([code, stderr.includes('Without a terminal, confirm with --yes.')]).toEqual([1, true])
    expect((await tabbatWith(settings, [...args, '--yes'], input)).stderr).not.toContain('confirm with --yes')
  })
})

describe('a user who may not read the database', () => {
  /** Root may read everything, so it runs the command as another user. */
  const asAnother = (settings: Settings, args: string[], cwd = '/') =>
    process.getuid?.() === 0
      ? runProgram(
          { file: 'setpriv', cwd },
          { ...QUIET, ...settings },
          ...['--reuid=4711', '--regid=4711', '--clear-groups', BIN, ...args],
        )
      : runProgram({ file: BIN, cwd }, { ...QUIET, ...settings }, ...args)

  it('is told so of a .env too, which may name the database', async () => {
    const folder = newFolder()
    chmodSync(root, 0o755)
    writeFileSync(join(folder, '.env'), 'TABBAT_DATA_DIR=elsewhere\n', { mode: 0o000 })
    const { code, stderr } = await asAnother({}, ['keys', 'list'], folder)
    expect(code).toBe(1)
    expect(stderr).toContain(
      `may not read ${join(folder, '.env')}. Run the program as the user of the server`,
    )
  })

  it.each([
    ['the folder', ''],
    ['the file', 'tabbat.db'],
  ])('is told so, and not that there is none (%s)', async (_what, closed) => {
    const folder = newFolder()
    chmodSync(root, 0o755)
    expect((await runIn(folder, CREATE)).code).toBe(0)
    const data = join(folder, 'data')
    chmodSync(data, 0o755)
    chmodSync(join(data, closed), 0o000)
    const commands = [
      ['keys', 'list'],
      ['backup', 'x.backup'],
      ['audit', 'verify'],
      ['keys', 'revoke', 'k3JbvwRd'],
      ['doctor'],
    ]
    const runs = await Promise.all(commands.map((args) => asAnother({ TABBAT_DATA_DIR: data }, args)))
    chmodSync(join(data, closed), 0o700)
    for (const { code, stdout, stderr } of runs) {
      expect(code).toBe(1)
      expect(stdout + stderr).toContain(
        `may not read ${join(data, 'tabbat.db')}. Run the command as the user of the server.`,
      )
      expect(stdout + stderr).not.toMatch(/There is no database|bug/)
    }
  })
})
