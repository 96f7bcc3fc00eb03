import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildDeb, toPackaged } from '../../build/deb.ts'
import { whyMissing } from '../cluster/programs.ts'
import { findFreePort } from '../free-port.ts'

const TARGET = `${process.platform}-${process.arch}`
const NEXT_VERSION = '99.0.0'
const isRoot = process.getuid?.() === 0
const missing =
  whyMissing('dpkg', 'chroot', 'mount', 'systemd-sysusers', 'systemd-tmpfiles') ??
  (isRoot ? undefined : 'needs root')
const withoutLintian = whyMissing('lintian')

/** What the scripts of the package and the stand-in for systemd run. */
const PROGRAMS = [
  'sh',
  'head',
  'base64',
  'sync',
  'mv',
  'cat',
  'rm',
  'rmdir',
  'env',
  'grep',
  'id',
  'install',
  'realpath',
  'systemd-sysusers',
  'systemd-tmpfiles',
]
const DEPENDED_ON = ['libc6', 'libgcc-s1', 'libstdc++6', 'systemd']
const LINKED_TO_USR = ['bin', 'sbin', 'lib', 'lib64']

/** A root for `chroot` with what a minimal Debian has, taken from this machine, and with a stand-in for systemd. */
function createRoot(): { root: string; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), 'tabbat-root-'))
  chmodSync(root, 0o755)
  for (const folder of LINKED_TO_USR) {
    mkdirSync(join(root, 'usr', folder), { recursive: true })
    symlinkSync(`usr/${folder}`, join(root, folder))
  }
  for (const folder of [
    'dev',
    'proc',
    'etc',
    'tmp',
    'srv',
    'run/systemd/system',
    'var/lib/dpkg/info',
    'var/lib/dpkg/updates',
    'opt',
  ])
    mkdirSync(join(root, folder), { recursive: true })
  const paths = PROGRAMS.map((name) =>
    execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(),
  )
  for (const path of new Set([...paths, ...paths.flatMap(listLibraries), ...listLibraries(process.execPath)]))
    copyInto(root, path)
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\n')
  writePackageList(root)
  // Plain files: devices do not work on every file system.
  writeFileSync(join(root, 'dev/null'), '')
  chmodSync(join(root, 'dev/null'), 0o666)
  writeFileSync(join(root, 'dev/urandom'), randomBytes(64))
  copyFileSync(process.execPath, join(root, 'opt/node'))
  copyFileSync('test/battery/systemd-stand-in.ts', join(root, 'opt/systemd-stand-in.ts'))
  for (const [name, as] of [
    ['systemctl', 'systemctl'],
    ['deb-systemd-invoke', 'systemctl'],
    ['systemd-run', 'systemd-run'],
  ] as const)
    writeFileSync(
      join(root, 'usr/bin', name),
      `#!/bin/sh\nexec /opt/node --no-warnings /opt/systemd-stand-in.ts ${as} "$@"\n`,
      { mode: 0o755 },
    )
  // Nothing of this machine is mounted there but processes: whatever removes the folder removes copies only.
  const proc = join(root, 'proc')
  execFileSync('mount', ['-t', 'proc', 'proc', proc])
  const remove = () => {
    execFileSync('umount', [proc])
    rmSync(root, { recursive: true })
  }
  return { root, remove }
}

const listLibraries = (path: string): string[] =>
  [...spawnSync('ldd', [path], { encoding: 'utf8' }).stdout.matchAll(/(?:=> |^\s)(\/\S+)/gm)].map(
    ([, library = '']) => library,
  )

function copyInto(root: string, path: string): void {
  const target = join(root, path)
  mkdirSync(dirname(target), { recursive: true })
  copyFileSync(path, target)
}

const FIELDS = ['Package', 'Status', 'Version', 'Architecture', 'Maintainer', 'Description']
const STANZA = `${FIELDS.map((name) => `${name}: \${${name === 'Description' ? 'binary:Summary' : name}}\\n`).join('')}\\n`

/** So that dpkg compares what the package depends on with the versions that were copied. */
function writePackageList(root: string): void {
  const native = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim()
  const names = DEPENDED_ON.map((name) => `${name}:${native}`)
  writeFileSync(join(root, 'var/lib/dpkg/status'), execFileSync('dpkg-query', ['-W', '-f', STANZA, ...names]))
  // As base-files does on Debian: dpkg removes a link that belongs to nobody else, and on arm64 the loader of all programs is behind /lib.
  const owned = `/.\n${LINKED_TO_USR.map((folder) => `/${folder}\n`).join('')}`
  for (const name of DEPENDED_ON) writeFileSync(join(root, 'var/lib/dpkg/info', `${name}.list`), owned)
}

/** The Debian package of an executable: made, checked, installed, started, upgraded, removed and purged. `toFolder` has the executable. */
export function describeDebian(toFolder: () => string): void {
  it('has the same bytes when it is made again, elsewhere and in another time zone', () => {
    const build = (zone: string) => {
      const folder = mkdtempSync(join(tmpdir(), 'tabbat-deb-'))
      // The executable itself is compared by a test of its own.
      for (const name of [`tabbat-${TARGET}`, `sbom-${TARGET}.cdx.json`, `licenses-${TARGET}.txt`])
        writeFileSync(join(folder, name), name)
      const args = ['build/deb.ts', '--from', folder, '--out', folder]
      const line = execFileSync(process.execPath, args, {
        env: { ...process.env, TZ: zone },
        encoding: 'utf8',
      })
      return readFileSync(line.split(': ')[0] ?? '')
    }
    expect(build('Africa/Lagos').equals(build('Pacific/Auckland'))).toBe(true)
  })

  it('is refused for a platform that Debian does not have', () => {
    const { status, stderr } = spawnSync(process.execPath, ['build/deb.ts', '--target', 'darwin-arm64'], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('--target must be one of: linux-x64, linux-arm64.'),
    ])
  })

  it('has the units of deploy/systemd, for a user that stays', () => {
    const unit = toPackaged(readFileSync('deploy/systemd/tabbat.service', 'utf8'))
    expect(unit).toContain('ExecStart=/usr/bin/tabbat serve')
    expect(unit).toContain('User=tabbat\nGroup=tabbat\nStateDirectory=tabbat')
  })

  describe.skipIf(missing !== undefined)(`on Debian${missing ? ` (skipped: ${missing})` : ''}`, () => {
    let [folder, first, next, root] = ['', '', '', '']
    let url = ''
    let key = ''
    let remove = () => {}
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'tabbat-deb-'))
      const write = async (version?: string) => {
        const [name, bytes] = await buildDeb({
          target: TARGET,
          from: toFolder(),
          // To compress 137 MB twice, and to read them nine times, takes longer than all that is tested with them.
          level: 0,
          ...(version && { version }),
        })
        writeFileSync(join(folder, name), bytes)
        return join(folder, name)
      }
      ;[first, next] = [await write(), await write(NEXT_VERSION)]
      ;({ root, remove } = createRoot())
    })
    afterAll(() => {
      const pid = readPid()
      if (pid !== undefined) process.kill(pid, 'SIGKILL')
      remove()
      rmSync(folder, { recursive: true, force: true })
    })

    const dpkg = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync('dpkg', [`--root=${root}`, '--log=/dev/null', ...args], {
        encoding: 'utf8',
      })
      expect(status, `${stdout}${stderr}`).toBe(0)
      return `${stdout}${stderr}`
    }
    const inRoot = (...command: string[]) => execFileSync('chroot', [root, ...command], { encoding: 'utf8' })
    const modeOf = (path: string) => {
      const { mode, uid } = statSync(join(root, path))
      return `${(mode & 0o777).toString(8)} ${uid === 0 ? 'root' : 'tabbat'}`
    }

    /** The process of the service, if it runs. */
    function readPid(): number | undefined {
      const file = join(root, 'run/systemd-stand-in/tabbat.pid')
      const pid = existsSync(file) ? readFileSync(file, 'utf8') : ''
      const stat =
        existsSync(`/proc/${pid}/stat`) && pid !== '' ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ''
      return stat === '' || /\) Z /.test(stat) ? undefined : Number(pid)
    }

    const isReady = () =>
      fetch(`${url}/health/ready`).then(
        ({ status }) => status,
        () => 0,
      )
    async function verify(): Promise<unknown> {
      const response = await fetch(`${url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nin: '70000000001', phone: '08030000001' }),
      })
      return response.json()
    }
    const VERIFIED = { success: true, data: { verification_status: 'VERIFIED' } }

    it.skipIf(withoutLintian !== undefined)(
      `satisfies lintian${withoutLintian ? ` (skipped: ${withoutLintian})` : ''}`,
      () => {
        // The errors in spelling are those of Node.js, and looking for them takes a minute.
        const args = [
          '--no-cfg',
          '--allow-root',
          '--fail-on',
          'error,warning',
          '-X',
          'binaries/spelling',
          first,
        ]
        const { status, stdout, stderr } = spawnSync('lintian', args, { encoding: 'utf8' })
        expect([status, stdout, stderr]).toEqual([0, '', ''])
      },
    )

    it('is installed, with a user, a root key and private folders, and does not start by itself', () => {
      expect(dpkg('-i', first)).toContain('Tabbat is installed, and not started.')
      expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toMatch(
        /^tabbat:x:[1-9]\d*:.*:\/var\/lib\/tabbat:\/usr\/sbin\/nologin$/m,
      )
      expect(modeOf('var/lib/tabbat')).toBe('700 tabbat')
      expect(modeOf('etc/tabbat/tabbat.env')).toBe('640 root')
      expect(modeOf('etc/tabbat/root.key')).toBe('600 root')
      expect(Buffer.from(readFileSync(join(root, 'etc/tabbat/root.key'), 'utf8'), 'base64')).toHaveLength(32)
      expect(readPid()).toBeUndefined()
    })

    it('is started as its user, and answers', async () => {
      const port = await findFreePort()
      url = `http://127.0.0.1:${port}`
      appendFileSync(
        join(root, 'etc/tabbat/tabbat.env'),
        `TABBAT_PORT=${port}\nTABBAT_ADMIN_PORT=off\nTABBAT_SHUTDOWN_DELAY=off\n`,
      )
      copyFileSync('docs/examples/nin.ndjson', join(root, 'srv/people.ndjson'))
      inRoot('tabbat-run', 'import', 'nin', '/srv/people.ndjson', '--rejected', '/var/lib/tabbat/rejected')
      key = (
        JSON.parse(inRoot('tabbat-run', 'keys', 'create', '--name', 'shop', '--mode', 'live', '--json')) as {
          key: string
        }
      ).key
      inRoot('systemctl', 'enable', '--now', 'tabbat')
      await expect.poll(isReady).toBe(200)
      expect(await verify()).toMatchObject(VERIFIED)
      expect(statSync(`/proc/${readPid()}`).uid).toBe(statSync(join(root, 'var/lib/tabbat')).uid)
      expect(modeOf('var/lib/tabbat/tabbat.db')).toBe('600 tabbat')
    })

    it('is upgraded: a running service is restarted, data and settings stay', async () => {
      const before = readPid()
      const files = ['etc/tabbat/tabbat.env', 'etc/tabbat/root.key'].map((path) => join(root, path))
      const texts = files.map((path) => readFileSync(path, 'utf8'))
      expect(dpkg('-i', next)).toContain(`(${NEXT_VERSION})`)
      await expect.poll(isReady).toBe(200)
      expect([readPid(), readPid() === before]).toEqual([expect.any(Number), false])
      expect(await verify()).toMatchObject(VERIFIED)
      expect(files.map((path) => readFileSync(path, 'utf8'))).toEqual(texts)
      inRoot('systemctl', 'stop', 'tabbat')
      await expect.poll(readPid).toBeUndefined()
      inRoot('sh', '/var/lib/dpkg/info/tabbat.postinst', 'configure', NEXT_VERSION)
      expect(readPid()).toBeUndefined()
    })

    it('is removed: a running service is stopped, data and settings stay', async () => {
      inRoot('systemctl', 'start', 'tabbat')
      await expect.poll(isReady).toBe(200)
      dpkg('-r', 'tabbat')
      await expect.poll(readPid).toBeUndefined()
      expect(existsSync(join(root, 'usr/bin/tabbat'))).toBe(false)
      expect(
        ['etc/tabbat/tabbat.env', 'etc/tabbat/root.key', 'var/lib/tabbat/tabbat.db'].filter(
          (path) => !existsSync(join(root, path)),
        ),
      ).toEqual([])
    })

    it('is purged: settings go, data and its root key stay, and it says so', () => {
      copyFileSync(join(root, 'var/lib/dpkg/info/tabbat.postrm'), join(root, 'tmp/postrm'))
      const said = dpkg('-P', 'tabbat')
      expect(said).toContain('the data, its root key and its user are kept: /var/lib/tabbat')
      expect(existsSync(join(root, 'etc/tabbat/tabbat.env'))).toBe(false)
      expect(existsSync(join(root, 'etc/tabbat/root.key'))).toBe(true)
      expect(modeOf('var/lib/tabbat/tabbat.db')).toBe('600 tabbat')
      const [, deletion = ''] = / (rm -r .*) && userdel tabbat/.exec(said) ?? []
      inRoot('sh', '-c', deletion)
      expect(existsSync(join(root, 'var/lib/tabbat'))).toBe(false)
    })

    it('is purged without a trace if nothing was stored', () => {
      mkdirSync(join(root, 'var/lib/tabbat'), { recursive: true })
      mkdirSync(join(root, 'etc/tabbat'), { recursive: true })
      writeFileSync(join(root, 'etc/tabbat/root.key'), 'a key that opened nothing')
      expect(inRoot('sh', '/tmp/postrm', 'purge')).toBe('')
      expect(['var/lib/tabbat', 'etc/tabbat'].filter((path) => existsSync(join(root, path)))).toEqual([])
    })
  })
}
