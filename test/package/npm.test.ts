import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeInstalled } from './installed.ts'

let folder = ''

/** npm runs on the machine's own Node.js, as it does for a user. */
const npm = (...args: string[]) => execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] })

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-install-'))
  // Not by npm's scripts: they would rebuild the console while other tests use it.
  execFileSync(process.execPath, ['build/package.ts'], { stdio: 'ignore' })
  npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder)
  const [tarball = ''] = globSync('tabbat-*.tgz', { cwd: folder })
  const quiet = ['--silent', '--no-audit', '--no-fund', '--prefer-offline']
  npm('install', '--global', '--prefix', join(folder, 'prefix'), ...quiet, join(folder, tarball))
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('installed with npm install -g', () => {
  describeInstalled(() => ({ file: join(folder, 'prefix/bin/tabbat'), cwd: folder }))
})
