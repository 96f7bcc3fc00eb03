import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { readSecretFile } from '../../src/crypto/secret-file.ts'
import { UntrustedPath } from '../../src/crypto/trusted-path.ts'
import { newDataDir, type Settings, startServer, tabbat } from './tabbat.ts'

const MODULE = new URL('../../src/crypto/secret-file.ts', import.meta.url).href
const [USER, OTHER_USER] = [4712, 4711]

let dataDir: string
let settings: Settings
const keyFile = () => join(dataDir, 'root.key')

beforeEach(async () => {
  dataDir = newDataDir()
  settings = { TABBAT_DATA_DIR: dataDir }
  expect((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live')).code).toBe(0)
})

describe('a root.key that others can reach', () => {
  it.each(['644', '640', '620', '602'])('is refused with mode %s', async (mode) => {
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600)
    chmodSync(keyFile(), mode)
    const { code, stderr } = await tabbat(settings, 'keys', 'list')
    expect([code, stderr]).toEqual([1, expect.stringContaining(`Type: chmod 600 ${keyFile()}\n`)])
  })

  it('stops the server, which starts after the command in the message was run', async () => {
    chmodSync(keyFile(), 0o644)
    const { code, stderr } = await tabbat({ ...settings, TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0' }, 'serve')
    expect([code, stderr]).toEqual([1, expect.stringContaining('other users of this machine can read')])
    chmodSync(keyFile(), 0o600)
    const server = await startServer(settings)
    expect(await server.stop()).toBe(0)
  })

  it('is refused in a folder that others may write to, also before the first start', async () => {
    chmodSync(dataDir, 0o777)
    const advice = expect.stringContaining(
      `Other users of this machine can write to ${dataDir}, and so decide what this program reads and runs. Type: chmod go-w ${dataDir}\n`,
    )
    const listed = await tabbat(settings, 'keys', 'list')
    expect([listed.code, listed.stderr]).toEqual([1, advice])
    for (const file of ['root.key', 'tabbat.db']) rmSync(join(dataDir, file))
    const created = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live')
    expect([created.code, created.stderr]).toEqual([1, advice])
  })

  it('is checked at the target of a link', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'tabbat-elsewhere-'))
    copyFileSync(keyFile(), join(elsewhere, 'key'))
    rmSync(keyFile())
    symlinkSync(join(elsewhere, 'key'), keyFile())
    expect((await tabbat(settings, 'keys', 'list')).code).toBe(0)
    chmodSync(elsewhere, 0o772)
    expect((await tabbat(settings, 'keys', 'list')).stderr).toContain(`chmod go-w ${elsewhere}`)
  })
})

describe('a secret in a file that the operator names', () => {
  const made: string[] = []
  afterAll(() => {
    for (const path of made) rmSync(path)
  })
  const write = (folder: string, mode: number) => {
    const path = join(folder, `tabbat secret ${process.pid}`)
    writeFileSync(path, createRootKeyText(), { mode })
    chmodSync(path, mode)
    made.push(path)
    return path
  }

  it('may be read by its group, and not by everyone', () => {
    const path = write(dataDir, 0o644)
    expect(() => readSecretFile(path, 'mounted')).toThrow(UntrustedPath)
    expect(() => readSecretFile(path, 'mounted')).toThrow(`chmod 640 '${path}'`)
    chmodSync(path, 0o640)
    expect(readSecretFile(path, 'mounted')).toHaveLength(44)
    expect(() => readSecretFile(path, 'private')).toThrow(`chmod 600 '${path}'`)
  })

  it.skipIf(process.platform !== 'linux')('may be read by everyone where containers mount secrets', () => {
    const path = write('/dev/shm', 0o444)
    expect(readSecretFile(path, 'mounted')).toHaveLength(44)
    chmodSync(path, 0o646)
    expect(() => readSecretFile(path, 'mounted')).toThrow(UntrustedPath)
  })

  it.skipIf(process.getuid?.() !== 0)('must not belong to another user (only root can make one)', () => {
    chmodSync(dataDir, 0o755)
    chownSync(keyFile(), OTHER_USER, -1)
    chmodSync(keyFile(), 0o644)
    expect(() => readSecretFile(keyFile(), 'mounted')).toThrow(/sudo chown 0 /)
    const read = `import(${JSON.stringify(MODULE)}).then((m) => m.readSecretFile(${JSON.stringify(keyFile())}, 'mounted'))`
    const { stderr } = spawnSync('node_modules/.bin/node', ['-e', read], { uid: USER, encoding: 'utf8' })
    expect(stderr).toContain(`sudo chown ${USER} ${keyFile()}`)
  })
})
