import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

const folder = newDataDir()
const file = join(folder, 'file')
writeFileSync(file, '')
const filled = { TABBAT_DATA_DIR: join(folder, 'data') }

/** Linux lets nobody make a folder there, and says that something is missing. */
const PROC = '/proc/tabbat/folder'
const hasProc = existsSync('/proc/self')

const FOLDERS: [string, string][] = [
  [file, `${file} is not a folder.`],
  [join(file, 'sub'), `A part of ${join(file, 'sub')} is a file.`],
  ...(hasProc ? [[PROC, `The folder ${PROC} cannot be made there.`] as [string, string]] : []),
]

describe('a folder that cannot be made is refused in a sentence', () => {
  it.each(FOLDERS)('tabbat rehearse --report %s', async (path, problem) => {
    const { code, stderr } = await tabbat(filled, 'rehearse', '--only', 'kill', '--report', path)
    expect(stderr).toMatch(/^Database: .*\nerror: .*\n$/)
    expect(stderr).toContain(`error: ${problem} Name another folder with --report.\n`)
    expect(code).toBe(2)
  })

  it.each(FOLDERS)('tabbat demo --data-dir %s', async (path, problem) => {
    const { code, stderr } = await tabbat({}, 'demo', '--data-dir', path)
    expect(stderr.endsWith(`\nerror: ${problem} Name another folder.\n`), stderr).toBe(true)
    expect(code).toBe(1)
  })

  it.each(FOLDERS)('tabbat keys create --data-dir %s', async (path) => {
    const args = ['--name', 'shop', '--mode', 'test', '--data-dir', path]
    const { code, stderr } = await tabbat({}, 'keys', 'create', ...args)
    expect(stderr).toContain(
      `error: ${path}/tabbat.db cannot be opened for writing. Check the folder and its permissions, or set TABBAT_DATA_DIR.\n`,
    )
    expect(code).toBe(1)
  })
})

it.runIf(hasProc)('a server whose copies cannot be written there answers, and stops', async () => {
  const server = await startServer({ TABBAT_CHECKPOINT_DIR: PROC })
  expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
  expect(await server.stop()).toBe(0)
})
