import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeInstalled } from './installed.ts'

let folder = ''
const toFile = () => join(folder, 'bin', `tabbat-${process.platform}-${process.arch}`)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-binary-'))
  execFileSync(process.execPath, ['build/binary.ts', '--out', join(folder, 'bin')], { stdio: 'ignore' })
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the single executable, in an empty folder with an empty PATH', () => {
  it('writes nothing where it is installed', () => {
    execFileSync(toFile(), ['--version'])
    expect(readdirSync(folder)).toEqual(['bin'])
    expect(readdirSync(join(folder, 'bin'))).toHaveLength(1)
  })

  describeInstalled(() => ({ file: toFile(), cwd: folder }), { PATH: '' })
})
