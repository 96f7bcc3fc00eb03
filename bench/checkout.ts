import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { refuse } from '../build/tool-arguments.ts'

/** A folder with the sources and packages of one version of Tabbat. */
export type Checkout = { readonly name: string; readonly root: string }

export const ROOT = join(import.meta.dirname, '..')
export const CURRENT: Checkout = { name: 'this checkout', root: ROOT }

/** Files that take long to make and are kept between runs. */
export const CACHE = join(tmpdir(), 'tabbat-bench-cache')

/** The worktree of an earlier commit, made once and kept: `--against`. */
export function openCheckout(commit: string, progress: (line: string) => void): Checkout {
  const git = (...args: string[]) => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' }).trim()
  const { stdout } = spawnSync('git', ['-C', ROOT, 'rev-parse', '--quiet', '--verify', `${commit}^{commit}`])
  const hash = String(stdout).trim()
  if (hash === '') refuse(`git knows no commit ${commit}.`)
  const name = hash.slice(0, 7)
  const root = join(CACHE, `checkout-${name}`)
  if (!existsSync(join(root, '.git'))) {
    git('worktree', 'prune')
    git('worktree', 'add', '--detach', root, hash)
  }
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) {
    progress(`installing the packages of ${name} in ${root}`)
    execFileSync('npm', ['ci', '--prefix', root, '--ignore-scripts'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  }
  return { name, root }
}
