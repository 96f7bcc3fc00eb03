import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeDebian } from './debian.ts'
import { describeInstalled, itStartsInOneLine } from './installed.ts'

let folder = ''
const TARGET = `${process.platform}-${process.arch}`
const SBOM = `sbom-${TARGET}.cdx.json`
const LICENCES = `licenses-${TARGET}.txt`
const toFile = () => join(folder, 'bin', `tabbat-${TARGET}`)

/** Without blocking: it takes minutes on a busy machine, and the watchdog of the tests ends a process that stands still. */
const build = (out: string) => promisify(execFile)(process.execPath, ['build/binary.ts', '--out', out])

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-binary-'))
  await build(join(folder, 'bin'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the single executable, in an empty folder with an empty PATH', () => {
  it('writes nothing where it is installed', () => {
    execFileSync(toFile(), ['--version'])
    expect(readdirSync(folder)).toEqual(['bin'])
    expect(readdirSync(join(folder, 'bin')).toSorted()).toEqual([LICENCES, SBOM, basename(toFile())])
  })

  it('has a list beside it of the libraries inside, and of Node.js', () => {
    const { components } = JSON.parse(readFileSync(join(folder, 'bin', SBOM), 'utf8')) as {
      components: { name: string; version: string; licenses?: object[] }[]
    }
    const names = components.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['pg', 'undici', 'preact', 'commander', 'node']))
    expect(components.find(({ name }) => name === 'node')?.version).toBe(process.versions.node)
    expect(components.filter(({ licenses }) => licenses?.length !== 1)).toEqual([])
  })

  it('has the licences beside it, of the libraries and of Node.js', () => {
    const text = readFileSync(join(folder, 'bin', LICENCES), 'utf8')
    expect(text).toMatch(/^undici \d.* \(MIT\)$/m)
    expect(text).toContain('Node.js is licensed for use as follows')
  })

  it('has the same bytes when it is made again in another folder', async () => {
    const again = join(folder, 'another folder')
    await build(again)
    expect(readFileSync(join(again, basename(toFile()))).equals(readFileSync(toFile()))).toBe(true)
    rmSync(again, { recursive: true })
  })

  it.each([
    ['plan9-x64', '--target must be one of: linux-x64, ', 2],
    [process.platform === 'darwin' ? 'linux-x64' : 'darwin-x64', 'codesign of macOS is needed', 1],
  ])('is refused for %s, with the reason', (target, reason, code) => {
    const out = join(folder, 'bin')
    const { status, stderr } = spawnSync(process.execPath, [
      ...['build/binary.ts', '--out', out, '--target', target],
    ])
    expect(status).toBe(code)
    expect(stderr.toString()).toContain(reason)
    expect(stderr.toString().trim().split('\n')).toHaveLength(1)
  })

  describeInstalled(() => ({ file: toFile(), cwd: folder }), { PATH: '' })

  // The page names the file for x64.
  if (TARGET === 'linux-x64')
    itStartsInOneLine('./tabbat-linux-x64', () => ({ folder: join(folder, 'bin'), name: basename(toFile()) }))
})

describe('the Debian package of the executable', () => {
  describeDebian(() => join(folder, 'bin'))
})
