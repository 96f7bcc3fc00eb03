import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { newDataDir, runProgram, type Settings, startServer, TABBAT, tabbat } from './tabbat.ts'

const FILE = resolve(TABBAT.file)
const [USER, OTHER] = [4712, 4711]
const isRoot = process.getuid?.() === 0

const newFolder = (mode = 0o755) => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-untrusted-'))
  chmodSync(folder, mode)
  return folder
}

/** A `.env` whose command leaves a trace. */
function plantEnv(folder: string) {
  const trace = join(folder, 'command-ran')
  const file = join(folder, '.env')
  writeFileSync(file, `TABBAT_ROOT_KEY_COMMAND=touch ${trace}\nTABBAT_ADMIN_PORT=off\nTABBAT_PORT=0\n`)
  return { file, trace }
}

const COMMANDS = [
  ['serve'],
  ['keys', 'list'],
  ['keys', 'create', '--name', 'shop', '--mode', 'live'],
  ['doctor'],
  ['audit', 'verify'],
  ['backup', 'x.backup'],
  ['nodes'],
  ['registry', 'stats'],
  ['admin', 'invite'],
]

describe.runIf(isRoot)('a .env that another user can change', () => {
  it('is not read by any command of root', async () => {
    const folder = newFolder(0o777)
    const { file, trace } = plantEnv(folder)
    chownSync(file, OTHER, OTHER)
    const runs = await Promise.all(
      COMMANDS.map((args) => runProgram({ file: FILE, cwd: folder }, {}, ...args)),
    )
    for (const { code, stdout, stderr } of runs) {
      expect(code).toBe(1)
      expect(stdout + stderr).toContain(`${file} belongs to another user (${OTHER}), who can change it.`)
      expect(stdout + stderr).toMatch(new RegExp(`type: sudo chown 0 ${file}$`, 'm'))
    }
    expect(existsSync(trace)).toBe(false)
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  it('is read after what the messages say was typed', async () => {
    const folder = newFolder(0o777)
    const { file, trace } = plantEnv(folder)
    chownSync(file, OTHER, OTHER)
    chmodSync(file, 0o666)
    chownSync(folder, OTHER, OTHER)
    const typed: string[] = []
    for (;;) {
      const { code, stderr } = await runProgram(
        { file: FILE, cwd: folder },
        {},
        ...['keys', 'create', '--name', 'shop', '--mode', 'live'],
      )
      const command = /type: (?:sudo )?(.*)$/im.exec(stderr)?.[1]
      // The command prints no key: it ran.
      if (command === undefined) return expect([code, existsSync(trace), typed.length]).toEqual([1, true, 4])
      expect(existsSync(trace)).toBe(false)
      expect(typed).not.toContain(command)
      typed.push(command)
      expect(spawnSync('sh', ['-c', command]).status).toBe(0)
    }
  })
})

describe.runIf(isRoot)('a named pipe of another user', () => {
  const plantPipe = (name: string) => {
    const path = join(newFolder(0o777), name)
    expect(spawnSync('mkfifo', ['-m', '600', path]).status).toBe(0)
    chownSync(path, OTHER, OTHER)
    return path
  }

  it('is not waited for as .env', async () => {
    const path = plantPipe('.env')
    const { code, stderr } = await runProgram({ file: FILE, cwd: dirname(path) }, {}, 'keys', 'list')
    expect([code, stderr]).toEqual([1, expect.stringContaining('belongs to another user')])
  })

  it('gives no secret', async () => {
    const path = plantPipe('root-key')
    // What the other user has put into it.
    const writer = openSync(path, 'r+')
    writeSync(writer, `${createRootKeyText()}\n`)
    const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_ROOT_KEY_FILE: path }
    const { code, stderr } = await tabbat(settings, 'keys', 'list')
    closeSync(writer)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/belongs to another user|can write to/)])
  })
})

const create = (settings: Settings) => tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live')

describe('a data folder that another user can change', () => {
  it('is refused by servers and commands, with PostgreSQL too', async () => {
    const dataDir = newDataDir()
    const settings: Settings = { TABBAT_DATA_DIR: dataDir }
    chmodSync(dataDir, 0o1777)
    const advice = expect.stringMatching(new RegExp(`Type: chmod go-w ${dataDir}$`, 'm'))
    const others = { ...settings, TABBAT_DATABASE_URL: 'postgres://127.0.0.1:1/none' }
    const runs = [create(settings), tabbat(settings, 'serve'), create(others), tabbat(others, 'serve')]
    for (const { code, stderr } of await Promise.all(runs)) expect([code, stderr]).toEqual([1, advice])
    chmodSync(dataDir, 0o700)
    expect((await create(settings)).code).toBe(0)
  })

  it('is refused below a folder in which others can replace it, and in a folder of /tmp it is not', async () => {
    const parent = newFolder(0o777)
    const settings = { TABBAT_DATA_DIR: join(parent, 'a', 'data') }
    expect((await create(settings)).stderr).toContain(`Type: chmod go-w ${parent}\n`)
    chmodSync(parent, 0o1777)
    expect((await create(settings)).code).toBe(0)
  })

  it('is refused with a database that others may write to', async () => {
    const dataDir = newDataDir()
    writeFileSync(join(dataDir, 'tabbat.db-wal'), '')
    chmodSync(join(dataDir, 'tabbat.db-wal'), 0o666)
    expect((await create({ TABBAT_DATA_DIR: dataDir })).stderr).toContain(
      `chmod go-w ${join(dataDir, 'tabbat.db-wal')}\n`,
    )
  })

  it.runIf(isRoot)('is refused if it, its database or a link to it belongs to another user', async () => {
    const folder = newFolder()
    const dataDir = join(folder, 'data')
    const settings = { TABBAT_DATA_DIR: dataDir }
    expect((await create(settings)).code).toBe(0)
    const refused = async (path: string) =>
      expect((await tabbat(settings, 'keys', 'list')).stderr).toContain(`${path} belongs to another user`)
    chownSync(dataDir, OTHER, -1)
    await refused(dataDir)
    chownSync(dataDir, 0, -1)
    chownSync(join(dataDir, 'tabbat.db'), OTHER, -1)
    await refused(join(dataDir, 'tabbat.db'))
    chownSync(join(dataDir, 'tabbat.db'), 0, -1)
    renameSync(dataDir, join(folder, 'moved'))
    symlinkSync('moved', dataDir)
    expect((await tabbat(settings, 'keys', 'list')).code).toBe(0)
    lchownSync(dataDir, OTHER, -1)
    await refused(dataDir)
  })
})

describe.runIf(isRoot)('a server of another user than root', () => {
  it('runs with a data folder and a .env of its own, or of root', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'data'))
    for (const path of ['', 'data']) chownSync(join(folder, path), USER, USER)
    writeFileSync(join(folder, '.env'), 'TABBAT_PUBLIC_URL=https://verify.example.com\n', { mode: 0o644 })
    const program = join(folder, 'tabbat')
    writeFileSync(
      program,
      `#!/bin/sh\nexec setpriv --reuid ${USER} --regid ${USER} --clear-groups ${FILE} "$@"\n`,
    )
    chmodSync(program, 0o755)
    const server = await startServer({ TABBAT_DATA_DIR: 'data' }, { file: program, cwd: folder })
    expect(await (await fetch(`${server.url}/openapi.json`)).text()).toContain('https://verify.example.com')
    expect(await server.stop()).toBe(0)
  })
})
