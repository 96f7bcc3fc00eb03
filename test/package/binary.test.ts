import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeInstalled } from './installed.ts'

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-binary-'))
  execFileSync(process.execPath, ['build/binary.ts', '--out', folder], { stdio: 'ignore' })
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the single executable, in an empty folder with an empty PATH', () => {
  const name = `tabbat-${process.platform}-${process.arch}`
  describeInstalled(() => ({ file: join(folder, name), cwd: folder }), { PATH: '' })
})
