import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { whyMissing } from '../cluster/programs.ts'
import { findFreePort } from '../free-port.ts'
import { runProgram, type Settings, TABBAT } from './tabbat.ts'

const isRoot = process.getuid?.() === 0

/** A path with a space, a quote and a letter that is not ASCII. */
const newFolder = () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'tabbat-init-')), `ọjà d'Ada`)
  mkdirSync(folder)
  return folder
}

const init = (cwd: string, args: readonly string[] = [], settings: Settings = {}) =>
  runProgram({ file: resolve(TABBAT.file), cwd }, settings, 'init', ...args)

type Done = {
  readonly key: string
  readonly link: string
  readonly missing: string[]
  readonly root_key_file: string
  readonly next: { command: string }[]
}

async function initJson(cwd: string, args: readonly string[], settings: Settings = {}): Promise<Done> {
  const { code, stdout, stderr } = await init(cwd, ['--json', ...args], settings)
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as Done
}

const toPlaces = ([port = '', adminPort = '']: readonly string[]) => [
  '--port',
  port,
  '--admin-port',
  adminPort,
]

/** As a person pastes a line into a terminal that is in this folder. */
const environment = { PATH: process.env.PATH ?? '', TABBAT_SHUTDOWN_DELAY: 'off', TABBAT_LOG_LEVEL: 'silent' }
const paste = (cwd: string, line: string, settings: Settings = {}) =>
  promisify(execFile)('sh', ['-c', line], { cwd, env: { ...environment, ...settings } })

const servers = new Set<ChildProcess>()
afterEach(() => {
  for (const server of servers) server.kill('SIGKILL')
  servers.clear()
})

/** The same for a line that starts a server, until it listens. */
async function pasteServe(cwd: string, line: string, settings: Settings = {}): Promise<ChildProcess> {
  const child = spawn('sh', ['-c', `exec ${line}`], {
    cwd,
    env: { ...environment, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  servers.add(child)
  let banner = ''
  for await (const piece of child.stdout) {
    banner += piece
    if (banner.includes('reference')) return child
  }
  throw new Error(`the server did not start: ${banner}`)
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
const commandWith = ({ next }: Done, text: string) =>
  next.map(({ command }) => command).find((command) => command.includes(text)) ?? ''

describe('tabbat init', () => {
  it('needs a terminal or --yes, and changes nothing without them', async () => {
    const folder = newFolder()
    const { code, stderr } = await init(folder)
    expect([code, stderr]).toEqual([2, expect.stringContaining('There is no terminal to ask on. Give --yes')])
    const vendor = await init(folder, ['--yes', '--mode', 'vendor'])
    expect([vendor.code, vendor.stderr]).toEqual([2, expect.stringContaining('Give the vendor: --vendor ')])
    expect(readdirSync(folder)).toEqual([])
  })

  it('sets up a trial whose printed lines work when they are pasted', async () => {
    const folder = newFolder()
    const done = await initJson(folder, [
      '--yes',
      ...toPlaces([String(await findFreePort()), String(await findFreePort())]),
    ])
    expect(done.key).toMatch(/^tbt_test_/)
    await pasteServe(folder, commandWith(done, ' serve'))
    const { stdout } = await paste(folder, commandWith(done, 'curl'))
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { verification_status: 'VERIFIED' } })
    const [page = '', token = ''] = done.link.split('#/invite/')
    const invitation = await fetch(`${new URL(page).origin}/admin/invitations/inspect`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    })
    expect([invitation.status, await invitation.json()]).toEqual([
      200,
      expect.objectContaining({ role: 'owner' }),
    ])
    expect((await paste(folder, commandWith(done, ' doctor'))).stdout).toMatch(/^ok +settings/m)
  })

  it('sets up own records: import, serve and the key work when they are pasted', async () => {
    const folder = newFolder()
    const ports = [String(await findFreePort()), String(await findFreePort())]
    const done = await initJson(folder, ['--yes', '--mode', 'records', ...toPlaces(ports)])
    expect(done.key).toMatch(/^tbt_live_/)
    copyFileSync('docs/examples/nin.ndjson', join(folder, 'people.ndjson'))
    await paste(folder, commandWith(done, ' import nin '))
    await pasteServe(folder, commandWith(done, ' serve'))
    const ask = (key: string) =>
      fetch(`http://127.0.0.1:${ports[0]}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nin: '70000000001', phone: '08030000001' }),
      })
    expect(await (await ask(done.key)).json()).toMatchObject({ data: { verification_status: 'VERIFIED' } })
    // Live: the public key of the sandbox is refused.
    expect((await ask('tbt_test_sandbox0EveryNumberWorksInTheTestSandbox1yrrmt')).status).toBe(401)
  })

  it('sets up a vendor without credentials, and doctor names the missing ones', async () => {
    const folder = newFolder()
    const done = await initJson(folder, [
      '--yes',
      '--vendor',
      'dojah',
      ...toPlaces([String(await findFreePort()), String(await findFreePort())]),
    ])
    expect(done.missing).toEqual(['TABBAT_DOJAH_APP_ID', 'TABBAT_DOJAH_SECRET'])
    const { stdout } = await paste(folder, `${commandWith(done, ' doctor')} || true`)
    for (const name of done.missing) expect(stdout).toContain(`failed   settings     ${name} is required`)
    const answer = { entity: { nin: '70123456789' } }
    writeFileSync(join(folder, 'saved.json'), JSON.stringify(answer))
    const tried = await paste(folder, `${commandWith(done, ' vendors try ')} || true`)
    expect(tried.stdout).toContain('Dojah')
  })

  it('names every setting without which the server does not start, also one of two that will do', async () => {
    const folder = newFolder()
    const done = await initJson(folder, [
      '--yes',
      '--vendor',
      'relay',
      ...toPlaces([String(await findFreePort()), String(await findFreePort())]),
    ])
    expect(done.missing).toEqual(['TABBAT_RELAY_URL', 'TABBAT_RELAY_KEY'])
    const { stdout } = await paste(folder, `${commandWith(done, ' doctor')} || true`)
    for (const name of done.missing) expect(stdout).toContain(`${name} is required`)
  })

  it('writes private files under any umask, with a comment for every setting', async () => {
    const folder = newFolder()
    const line = `umask 0; '${resolve(TABBAT.file)}' init --yes --json`
    const done = JSON.parse((await paste(folder, line)).stdout) as Done
    expect(modeOf(join(folder, '.env'))).toBe('600')
    expect(modeOf(join(folder, 'data'))).toBe('700')
    for (const name of readdirSync(join(folder, 'data')))
      expect(modeOf(join(folder, 'data', name)), name).toBe('600')
    expect(done.root_key_file).toBe(join(folder, 'data/root.key'))
    const text = readFileSync(join(folder, '.env'), 'utf8')
    expect(text).toMatch(/^# Port to listen on.*\nTABBAT_PORT=8080$/m)
    expect(text).toMatch(/^# Requests per minute.*\n#TABBAT_RATE_LIMIT=3000$/m)
    expect(text).not.toContain(done.key)
  })

  it('changes nothing in a folder that is set up', async () => {
    const folder = newFolder()
    await initJson(folder, ['--yes'])
    const FILES = ['.env', 'data/root.key', 'data/tabbat.db']
    const read = (names = FILES) => names.map((name) => readFileSync(join(folder, name), 'hex'))
    const before = read()
    const again = await init(folder, ['--yes'])
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is set up already')])
    expect(read()).toEqual(before)
    rmSync(join(folder, '.env'))
    const without = await init(folder, ['--yes'])
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('is set up already')])
    expect(existsSync(join(folder, '.env'))).toBe(false)
    expect(read(FILES.slice(1))).toEqual(before.slice(1))
  })

  it.each([
    [
      'a vendor for a trial',
      ['--mode', 'trial', '--vendor', 'dojah'],
      '--vendor does not go with --mode trial.',
    ],
    ['a vendor of lists', ['--vendor', 'vtpass'], 'vtpass has lists of bundles only. Choose one of blusalt'],
    [
      'a vendor that is not known',
      ['--vendor', 'acme'],
      'There is no such vendor. Choose one of blusalt, dojah',
    ],
    ['a port that is none', ['--port', 'door'], "option '--port <port>' argument 'door' is invalid. It "],
  ])('refuses %s, and writes nothing', async (_what, args, sentence) => {
    const folder = newFolder()
    const { code, stderr } = await init(folder, ['--yes', ...args])
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(sentence)])
    expect([code === 0, readdirSync(folder)]).toEqual([false, []])
  })

  it('names only vendors that verify, whatever is given in place of one', async () => {
    const choicesFor = async (name: string) =>
      /Choose one of .*/.exec((await init(newFolder(), ['--yes', '--vendor', name])).stderr)?.[0]
    expect(await choicesFor('acme')).toBe(await choicesFor('vtpass'))
  })

  it('goes on with settings that exist, and refuses answers that contradict them', async () => {
    const folder = newFolder()
    const text = 'TABBAT_NIN_SOURCES=dojah\nTABBAT_DOJAH_APP_ID=synthetic\nTABBAT_DATA_DIR=./people\n'
    writeFileSync(join(folder, '.env'), text, { mode: 0o600 })
    const other = await init(folder, ['--yes', '--mode', 'trial', '--port', '9000'])
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringContaining('does not have the settings for trial, TABBAT_PORT=9000'),
    ])
    expect(readdirSync(folder)).toEqual(['.env'])
    const done = await initJson(folder, ['--yes', '--mode', 'vendor', '--vendor', 'dojah'])
    expect(done.missing).toEqual(['TABBAT_DOJAH_SECRET'])
    expect(readFileSync(join(folder, '.env'), 'utf8')).toBe(text)
    expect(readdirSync(folder).toSorted()).toEqual(['.env', 'people'])
  })

  it('goes on after a failure, and after a kill at any moment', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'data'), 'a file where the folder should be')
    const failed = await init(folder, ['--yes'])
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringContaining('Run "tabbat init" again to go on'),
    ])
    rmSync(join(folder, 'data'))
    const child = spawn(resolve(TABBAT.file), ['init', '--yes'], {
      cwd: folder,
      env: environment,
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    const watcher = watch(folder, () => child.kill('SIGKILL'))
    await ended
    watcher.close()
    const again = await init(folder, ['--yes'])
    // The signal may come when all is done.
    if (again.code !== 0) expect(again.stderr).toContain('is set up already')
    expect((await paste(folder, `'${resolve(TABBAT.file)}' audit verify`)).stdout).not.toBe('')
  })

  it('uses a root key that exists', async () => {
    const folder = newFolder()
    const key = `${Buffer.alloc(32, 7).toString('base64')}\n`
    mkdirSync(join(folder, 'data'), { mode: 0o700 })
    writeFileSync(join(folder, 'data/root.key'), key, { mode: 0o600 })
    await initJson(folder, ['--yes'])
    expect(readFileSync(join(folder, 'data/root.key'), 'utf8')).toBe(key)
  })

  it('refuses an answer that the environment would override, and names what only the environment has', async () => {
    const folder = newFolder()
    const refused = await init(folder, ['--yes', '--port', '9000'], { TABBAT_PORT: '9001' })
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('TABBAT_PORT is set in the environment'),
    ])
    expect(readdirSync(folder)).toEqual([])
    const { stderr } = await init(folder, ['--yes'], { TABBAT_PORT: '9001', TABBAT_RATE_LIMIT: '5' })
    expect(stderr).toContain(
      'only the environment has TABBAT_SHUTDOWN_DELAY, TABBAT_RATE_LIMIT, and not the file',
    )
    expect(readFileSync(join(folder, '.env'), 'utf8')).toContain('\nTABBAT_PORT=9001\n')
  })
})

describe.runIf(isRoot)('tabbat init where it cannot write', () => {
  it('says so in a folder of another user, and in one that others can change', async () => {
    const folder = newFolder()
    chownSync(folder, 4711, 4711)
    const foreign = await init(folder, ['--yes'])
    expect([foreign.code, foreign.stderr]).toEqual([
      1,
      expect.stringContaining('belongs to another user (4711)'),
    ])
    chownSync(folder, 0, 0)
    chmodSync(folder, 0o777)
    const open = await init(folder, ['--yes'])
    expect([open.code, open.stderr]).toEqual([1, expect.stringContaining('Type: chmod go-w')])
    expect(readdirSync(folder)).toEqual([])
  })

  it('says so on a read-only and on a full disk, leaves no piece of a file, and goes on later', async () => {
    const folder = newFolder()
    const mount = (...options: string[]) => execFileSync('mount', [...options, folder])
    mount('-t', 'tmpfs', '-o', 'size=8k,mode=700', 'tmpfs')
    try {
      const full = await init(folder, ['--yes'])
      expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('is full. Free some space')])
      expect(readdirSync(folder)).toEqual([])
      mount('-o', 'remount,ro')
      const readOnly = await init(folder, ['--yes'])
      expect([readOnly.code, readOnly.stderr]).toEqual([1, expect.stringContaining('(EROFS)')])
      // Enough for the settings, not for the database.
      mount('-o', 'remount,rw,size=64k')
      const half = await init(folder, ['--yes'])
      expect([half.code, half.stderr]).toEqual([1, expect.stringContaining('is full')])
      expect(half.stderr).toContain('Run "tabbat init" again to go on')
      mount('-o', 'remount,rw,size=32m')
      await initJson(folder, ['--yes'])
    } finally {
      execFileSync('umount', [folder])
      rmdirSync(folder)
    }
  })
})

const missing = whyMissing('script')

describe.skipIf(missing !== undefined)(
  `tabbat init on a terminal${missing ? ` (skipped: ${missing})` : ''}`,
  () => {
    /** Answers questions when they appear on a terminal. Returns what the terminal has shown. */
    async function talk(cwd: string, turns: readonly (readonly [question: string, answer: string])[]) {
      const child = spawn('script', ['-qec', `'${resolve(TABBAT.file)}' init`, '/dev/null'], {
        cwd,
        env: { ...environment, SHELL: '/bin/sh' },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let [shown, read] = ['', 0]
      const left = [...turns]
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        shown += piece
        const [question, answer] = left[0] ?? []
        if (question === undefined || !shown.slice(read).includes(question)) return
        read = shown.length
        left.shift()
        child.stdin.write(answer)
      })
      const [code] = await once(child, 'close')
      return { code: code as number | null, shown }
    }

    it('asks, shows no secret, and the vendor can be called', async () => {
      const vendor = await openStandIn(dojah)
      const folder = newFolder()
      const [port = '', adminPort = ''] = [String(await findFreePort()), String(await findFreePort())]
      const { code, shown } = await talk(folder, [
        ['[1]: ', 'vendors\r'],
        ['[1]: ', '3\r'],
        ['Vendor: ', 'dojah\r'],
        ['TABBAT_DOJAH_APP_ID', 'simulated-app\r'],
        ['TABBAT_DOJAH_SECRET', 'simulated secret\r'],
        ['TABBAT_DOJAH_SECRET', 'simulated-secret\r'],
        ['root key [./data]: ', "./people's data\r"],
        ['API [8080]: ', '80a\r'],
        ['API [8080]: ', `${port}\r`],
        ['console [8081]: ', `${adminPort}\r`],
      ])
      expect(code, shown).toBe(0)
      expect(shown).not.toContain('simulated-secret')
      expect(shown).not.toContain('simulated secret')
      expect(readFileSync(join(folder, '.env'), 'utf8')).toContain('\nTABBAT_DOJAH_SECRET=simulated-secret\n')
      expect(readdirSync(folder).toSorted()).toEqual(['.env', "people's data"])
      const line = /^ {2}(\S.* sources check dojah)\s*$/m.exec(shown)?.[1] ?? ''
      const checked = await paste(folder, line, { TABBAT_DOJAH_URL: vendor.url })
      expect(checked.stdout).toContain('everything works')
      await vendor.close()
    })

    it('leaves nothing behind after Ctrl-C', async () => {
      const folder = newFolder()
      const { code, shown } = await talk(folder, [
        ['[1]: ', '1\r'],
        ['[./data]: ', '\u0003'],
      ])
      expect([code, shown]).toEqual([1, expect.stringContaining('Cancelled. Nothing was changed.')])
      expect(readdirSync(folder)).toEqual([])
    })
  },
)
