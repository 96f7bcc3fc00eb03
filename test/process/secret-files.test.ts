import { chmodSync, copyFileSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { newDataDir, type Settings, startServer, tabbat } from './tabbat.ts'

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
