import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

/** Makes the release of a commit, with temporary files in a new folder, and returns its SHA256SUMS. */
function buildIn(folder: string, commit: string, environment: Record<string, string>): string {
  mkdirSync(folder)
  const out = join(folder, 'release')
  const args = ['build/release.ts', ...process.argv.slice(2), '--commit', commit, '--out', out]
  execFileSync(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...environment, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return readFileSync(join(out, 'SHA256SUMS'), 'utf8')
}

/**
 * npm run build:check: makes the release of the last commit twice, in folders with different names and different settings of time
 * zone, language and file rights, and compares the bytes. Arguments are those of build:release.
 */
const place = mkdtempSync(join(tmpdir(), 'tabbat-twice-'))
try {
  // Read once: another commit may be made during the first build.
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
  const first = buildIn(join(place, 'a'), commit, { TZ: 'Africa/Lagos', LANG: 'C' })
  process.umask(0o077)
  const second = buildIn(join(place, 'another folder'), commit, {
    TZ: 'Pacific/Auckland',
    LANG: 'en_NG.UTF-8',
  })
  const others = second.split('\n').filter((line) => !first.split('\n').includes(line))
  for (const line of others) say(`differs: ${line.slice(66)}`)
  say(others.length === 0 ? `Both builds gave the same bytes:\n${first}` : 'The two builds differ.')
  process.exitCode = others.length === 0 ? 0 : 1
} finally {
  rmSync(place, { recursive: true, force: true })
}
