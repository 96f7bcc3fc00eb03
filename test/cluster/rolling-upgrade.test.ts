import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createLedger } from '../battery/ledger.ts'
import { createCallers } from '../battery/load.ts'
import { readAudit } from '../battery/place.ts'
import { createEmptyDatabase, hasPostgres } from '../postgres.ts'
import { newDataDir, startServer, tabbat } from '../process/tabbat.ts'

const git = (...args: string[]) =>
  execFileSync('git', args, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 1e9 }).trim()

/** The tag of the last release; undefined where there is none. */
function findRelease(): string | undefined {
  try {
    return git('describe', '--tags', '--abbrev=0', '--match', 'v*') || undefined
  } catch {
    return undefined
  }
}

/** The program of that commit, with the libraries of this checkout. */
function checkOut(commit: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-release-'))
  mkdirSync(join(folder, 'release'))
  git('archive', '--output', join(folder, 'release.tar'), commit)
  execFileSync('tar', ['-xf', join(folder, 'release.tar'), '-C', join(folder, 'release')])
  symlinkSync(resolve('node_modules'), join(folder, 'release', 'node_modules'))
  return join(folder, 'release', 'bin', 'tabbat')
}

const release = findRelease()
const missing =
  release === undefined ? 'there is no tag of a release' : hasPostgres() ? '' : 'there is no PostgreSQL'

it.skipIf(missing)(
  `a node of the last release goes on while a new one changes the database ${missing && `(skipped: ${missing})`}`,
  async () => {
    const settings = {
      TABBAT_DATABASE_URL: await createEmptyDatabase(),
      TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_RATE_LIMIT: 'off',
      TABBAT_SANDBOX: 'on',
    }
    const place = {
      settings: { ...settings, TABBAT_DATA_DIR: newDataDir() },
      keys: { test: SANDBOX_KEY, live: SANDBOX_KEY },
    }
    const ledger = createLedger()
    const callers = createCallers(ledger, place)
    const before = await startServer(settings, { file: checkOut(release ?? '') })
    const load = callers.start(before.url)
    await load.until('acknowledged', 100)
    const after = await startServer(place.settings)
    await load.until('acknowledged', 100)
    await load.stop()
    // Each replays responses that the other one has stored.
    await callers.ask(after.url, ledger.answered(20))
    const next = callers.start(after.url)
    await next.until('acknowledged', 100)
    await next.stop()
    await callers.ask(before.url, ledger.answered(20))
    callers.close()
    expect(await Promise.all([before.stop(), after.stop()])).toEqual([0, 0])
    expect([ledger.counts.unavailable, ledger.findFaults(await readAudit(place))]).toEqual([0, []])
    expect((await tabbat(place.settings, 'audit', 'verify', '--json')).code).toBe(0)
  },
)
