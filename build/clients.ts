import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { VERSION } from '../src/version.ts'
import { ROOT } from './bundle.ts'

const git = (folder: string, ...args: string[]) =>
  execFileSync('git', args, { cwd: join(ROOT, folder), encoding: 'utf8' }).trim()

/** Copies files with fixed rights: those of a checkout depend on the umask of who cloned, and archives keep them. */
export function stageFiles(folder: string, paths: readonly string[]): string {
  const stage = mkdtempSync(join(tmpdir(), 'tabbat-pack-'))
  for (const path of paths) {
    const isProgram = (statSync(join(folder, path)).mode & 0o100) !== 0
    mkdirSync(dirname(join(stage, path)), { recursive: true })
    copyFileSync(join(folder, path), join(stage, path))
    chmodSync(join(stage, path), isProgram ? 0o755 : 0o644)
  }
  return stage
}

/** The client for PHP, as the last commit has it: a zip, as Composer downloads it from Packagist or finds it in a folder. */
export function packPhp(out: string): void {
  const name = `tabbat-client-php-${VERSION}`
  const args = ['archive', '--format=zip', '-9', `--prefix=${name}/`, `--output=${join(out, `${name}.zip`)}`]
  // A zip has local times.
  const env = { ...process.env, TZ: 'UTC' }
  execFileSync('git', [...args, 'HEAD'], { cwd: join(ROOT, 'packages/php'), env })
}

export type Python = { readonly program: string; readonly versions: Readonly<Record<string, string>> }

const VERSIONS =
  'import json, platform, setuptools, wheel; print(json.dumps({"python": platform.python_version(), "setuptools": setuptools.__version__, "wheel": wheel.__version__}))'

/** The default Python, or that of the system, if it can build packages without a network. */
export function findPython(): Python {
  for (const program of ['python3', '/usr/bin/python3'])
    try {
      const text = execFileSync(program, ['-c', VERSIONS], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      return { program, versions: JSON.parse(text) }
    } catch {}
  throw new Error(
    'The package for Python needs python3 with setuptools and wheel. On Debian: apt-get install python3-setuptools python3-wheel',
  )
}

/** The client for Python: a wheel and a source archive, as PyPI takes them. */
export function packPython(out: string, { program }: Python): void {
  const folder = 'packages/python'
  const stage = stageFiles(join(ROOT, folder), git(folder, 'ls-files').split('\n'))
  const seconds = git(folder, 'log', '-1', '--format=%ct')
  // setuptools says on standard error what it does, and why it failed, which the exception then has.
  execFileSync(program, [join(ROOT, 'build/python-packages.py'), out, seconds], {
    cwd: stage,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  rmSync(stage, { recursive: true })
}
