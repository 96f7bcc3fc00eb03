import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import { readTargets } from './release.ts'

const targets = readTargets().flatMap((target) => ['--target', target])
const say = (line: string) => process.stdout.write(`${line}\n`)

/** Makes the release of a commit, with temporary files in a new folder, and returns its SHA256SUMS. */
function buildIn(folder: string, commit: string, environment: Record<string, string>): string {
  mkdirSync(folder)
  const out = join(folder, 'release')
  const args = ['build/release.ts', ...targets, '--commit', commit, '--out', out]
  const { status } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...environment, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  // It has said why.
  if (status !== 0) process.exit(1)
  return readFileSync(join(out, 'SHA256SUMS'), 'utf8')
}

const place = mkdtempSync(join(tmpdir(), 'tabbat-twice-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
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
