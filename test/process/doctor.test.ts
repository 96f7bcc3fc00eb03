import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { createEmptyDatabase, hasPostgres } from '../postgres.ts'
import { newDataDir, type Settings, TABBAT, tabbat } from './tabbat.ts'

type Check = { readonly check: string; readonly status: string; readonly text: string }

/** Other programs of this machine may use the usual ports. */
const PORTS = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0' }

async function examine(settings: Record<string, string>) {
  const { code, stdout } = await tabbat({ ...PORTS, ...settings }, 'doctor', '--json')
  const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: Check[] }
  const failures = checks.filter(({ status }) => status === 'failed')
  return { code, healthy, failures: failures.map(({ check, text }) => `${check}: ${text}`), checks }
}

describe('tabbat doctor', () => {
  it('prints a line for each check, and ends with 0 when none failed', async () => {
    const settings = { TABBAT_DATA_DIR: newDataDir(), ...PORTS }
    await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test')
    const backup = join(newDataDir(), 'backup')
    expect((await tabbat(settings, 'backup', backup)).code).toBe(0)
    const { code, stdout, stderr } = await tabbat(settings, 'doctor')
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Database: SQLite .*\n$/)])
    const names = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(9, 21).trim())
    const local = [
      'version',
      'audit log',
      'settings',
      'permissions',
      'disk',
      'archives',
      'tls',
      'ports',
      'proxy',
    ]
    const database = [
      'database',
      'data',
      'clock',
      'postgresql',
      'connections',
      'patroni',
      'root key',
      'audit rows',
    ]
    const others = [
      'checkpoints',
      'erasures',
      'revocations',
      'backups',
      'sources',
      'webhooks',
      'notices',
      'nodes',
    ]
    expect(names).toEqual([...local, ...database, ...others])
    expect(stdout).toMatch(/^ok {7}backups {6}The last was made on /m)
    expect((await examine(settings)).healthy).toBe(true)
  })

  it('fails with --running where no server answers', async () => {
    const settings = { TABBAT_DATA_DIR: newDataDir(), ...PORTS }
    await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test')
    const { code, stdout } = await tabbat(settings, 'doctor', '--json', '--running')
    const { healthy, checks } = JSON.parse(stdout) as { healthy: boolean; checks: Check[] }
    expect([code, healthy, checks.filter(({ status }) => status === 'failed')]).toEqual([
      1,
      false,
      [
        {
          check: 'audit log',
          status: 'failed',
          text: 'No server answers on the configured port. Start it, or see its log.',
        },
      ],
    ])
  })

  it('ends with 1 when the settings are invalid, the database is missing or the root key is another', async () => {
    const wrong = await examine({ TABBAT_PORT: 'x' })
    expect(wrong).toMatchObject({
      code: 1,
      healthy: false,
      failures: [expect.stringContaining('TABBAT_PORT must be')],
    })
    const settings = { TABBAT_DATA_DIR: newDataDir() }
    expect((await examine(settings)).failures).toEqual([
      expect.stringMatching(/^database: There is no database/),
    ])
    await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test')
    rmSync(join(settings.TABBAT_DATA_DIR, 'root.key'))
    const key = 'cd'.repeat(32)
    const other = await examine({ ...settings, TABBAT_ROOT_KEY: key })
    expect(other).toMatchObject({ code: 1, failures: [expect.stringMatching(/^root key: .*not the one/)] })
    expect(JSON.stringify(other)).not.toContain('cdcd')
  })

  it.runIf(process.getuid?.() === 0)(
    'makes the other checks where it may not look into a folder, and never ends as a bug',
    async () => {
      const settings = { TABBAT_DATA_DIR: newDataDir(), ...PORTS }
      await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test')
      execFileSync('chown', ['-R', '65534:65534', settings.TABBAT_DATA_DIR])
      const closed = mkdtempSync(join(tmpdir(), 'tabbat-closed-'))
      mkdirSync(join(closed, 'copies'))
      const { status, stdout, stderr } = spawnSync(TABBAT.file, ['doctor', '--json'], {
        env: { PATH: process.env.PATH ?? '', ...settings, TABBAT_CHECKPOINT_DIR: join(closed, 'copies') },
        uid: 65534,
        gid: 65534,
        encoding: 'utf8',
      })
      expect(stderr).toMatch(/^Database: SQLite .*\n$/)
      const { checks } = JSON.parse(stdout) as { checks: Check[] }
      const failures = checks.filter(({ status: each }) => each === 'failed')
      expect(failures.map(({ check }) => check)).toEqual([
        'disk',
        'audit rows',
        'checkpoints',
        'erasures',
        'revocations',
      ])
      for (const { text } of failures) expect(text).toContain('EACCES')
      expect([status, checks.at(-1)?.check]).toEqual([1, 'nodes'])
    },
  )

  describe.each(['SQLite', 'PostgreSQL'])('on %s', (engine) => {
    const isMissing = engine === 'PostgreSQL' && !hasPostgres()
    it.skipIf(isMissing)('reports an older schema, and does not change it', async () => {
      const settings = await newSettings(engine)
      await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'test')
      await withDatabase(settings, async (database) => {
        await database.prepare('UPDATE schema_state SET version = -1').run()
        await database.prepare('DROP TABLE nodes').run()
      })
      const { code, checks } = await examine(settings)
      expect([code, checks.find(({ check }) => check === 'database')]).toEqual([
        0,
        {
          check: 'database',
          status: 'warning',
          text: expect.stringMatching(
            /^The database has schema -1, and this Tabbat needs \d+\. .*Nothing was changed\.$/,
          ),
        },
      ])
      expect(await readSchema(settings)).toBe(-1)
    })
  })

  it.skipIf(!hasPostgres())('creates no tables in an empty PostgreSQL', async () => {
    const settings = await newSettings('PostgreSQL')
    expect((await examine(settings)).failures).toEqual([
      expect.stringMatching(/^database: The database has no tables/),
    ])
    const list = "SELECT COUNT(*) AS tables FROM pg_tables WHERE schemaname = 'public'"
    expect(await withDatabase(settings, (database) => database.prepare(list).get())).toEqual({ tables: 0 })
  })
})

const newSettings = async (engine: string): Promise<Settings> => ({
  TABBAT_DATA_DIR: newDataDir(),
  ...(engine === 'SQLite' ? {} : { TABBAT_DATABASE_URL: await createEmptyDatabase() }),
})

async function withDatabase<T>(settings: Settings, work: (database: Database) => Promise<T>): Promise<T> {
  const { TABBAT_DATABASE_URL: url, TABBAT_DATA_DIR: folder = '' } = settings
  const database = url ? await openPostgres(url) : openSqlite(join(folder, 'tabbat.db'))
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

const readSchema = (settings: Settings) =>
  withDatabase(settings, async (database) =>
    Number((await database.prepare('SELECT version FROM schema_state').get())?.version),
  )
