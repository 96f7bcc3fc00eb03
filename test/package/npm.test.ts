import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeInstalled } from './installed.ts'

let folder = ''

/** npm runs on the installed Node.js, as for a user. */
const npm = (...args: string[]) => execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] })

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-install-'))
  // Without npm's scripts: they would rebuild the console while other tests use it.
  execFileSync(process.execPath, ['build/package.ts'], { stdio: 'ignore' })
  npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder)
  const [tarball = ''] = globSync('tabbat-*.tgz', { cwd: folder })
  const quiet = ['--silent', '--no-audit', '--no-fund', '--prefer-offline']
  npm('install', '--global', '--prefix', join(folder, 'prefix'), ...quiet, join(folder, tarball))
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('installed with npm install -g', () => {
  it('has no install script, which npm would warn about', () => {
    const manifest = join(folder, 'prefix/lib/node_modules/tabbat/package.json')
    const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts: Record<string, string> }
    const forbidden = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare']
    expect(Object.keys(scripts).filter((name) => forbidden.includes(name))).toEqual([])
  })

  describeInstalled(() => ({ file: join(folder, 'prefix/bin/tabbat'), cwd: folder }))
})
