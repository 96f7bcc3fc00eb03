import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import { openSealedStore } from '../../src/context/sealed-store.ts'
import { execute, hasOwnPostgres, type Postgres, type Standby, startOwnPostgres } from '../postgres.ts'
import { newDataDir, type Settings, tabbat } from '../process/tabbat.ts'
import { toConfig } from '../registry/sealed-registry.ts'

if (!hasOwnPostgres())
  console.warn('Tests of a standby are skipped: there are no binaries of PostgreSQL in node_modules.')

/** A primary with a hot standby, each with one database of Tabbat. */
describe.skipIf(!hasOwnPostgres())('a hot standby of PostgreSQL', () => {
  let primary: Postgres
  let standby: Standby
  let onPrimary: Settings
  let onStandby: Settings

  beforeAll(async () => {
    primary = await startOwnPostgres()
    const url = await primary.createDatabase()
    standby = await primary.startStandby()
    const name = new URL(url).pathname
    onPrimary = { TABBAT_DATABASE_URL: url, TABBAT_DATA_DIR: newDataDir() }
    onStandby = { ...onPrimary, TABBAT_DATABASE_URL: new URL(name, standby.url).href }
    expect((await tabbat(onPrimary, 'keys', 'create', '--name', 'shop', '--mode', 'live')).code).toBe(0)
  })

  afterAll(async () => {
    await standby?.stop()
    await primary?.stop()
  })

  /** Until the standby has what the primary has committed. */
  const catchUp = async () => {
    const [row] = await execute(primary.url, 'SELECT pg_current_wal_lsn()::text AS lsn')
    const replayed = async () =>
      (await execute(standby.url, `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn}' AS done`))[0]?.done
    await expect.poll(replayed).toBe(true)
  }

  it('is backed up, without a change of it, and the backup is good', async () => {
    await catchUp()
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-standby-'))
    const made = await tabbat(onStandby, 'backup', '--json', '--keep', '2', folder)
    expect([made.code, made.stderr]).toEqual([
      0,
      expect.stringContaining('the backup is not in the audit log'),
    ])
    const { file, rows } = JSON.parse(made.stdout) as { file: string; rows: Record<string, number> }
    expect(rows).toMatchObject({ api_keys: 1, audit: 1 })
    const checked = await tabbat(onStandby, 'backup', 'check', '--json', file)
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([0, { good: true }])
  })

  it('has its audit log verified, against checkpoints that it receives meanwhile, and by threads', async () => {
    const made = await tabbat(onPrimary, 'keys', 'create', '--name', 'other', '--mode', 'live')
    expect(made.code).toBe(0)
    const args = ['audit', 'verify', '--checkpoints', onPrimary.TABBAT_DATA_DIR ?? '']
    const { code, stdout } = await tabbat(onStandby, ...args)
    expect([code, stdout]).toEqual([0, expect.stringContaining('No difference was found')])

    const { store, keyring } = await openSealedStore(toConfig(onStandby), {
      mustExist: true,
      isReading: true,
    })
    const publicKey = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The key')
    const verdict = await verifyStore(store, { publicKey, threads: 2, threadsFromRows: 0 }).finally(
      store.close,
    )
    expect(verdict).toMatchObject({ sound: true, rows: 2 })
  })

  it('is examined by doctor, which says that it is one', async () => {
    const ports = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0' }
    const { code, stdout } = await tabbat({ ...onStandby, ...ports }, 'doctor', '--json')
    const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; text: string }[] }
    const toStatus = (name: string) => checks.find(({ check }) => check === name)
    expect(toStatus('postgresql')).toMatchObject({
      status: 'warning',
      text: expect.stringMatching(/^This is a standby/),
    })
    expect(toStatus('nodes')).toMatchObject({ status: 'skipped' })
    expect([code, checks.filter(({ status }) => status === 'failed')]).toEqual([0, []])
    const asked = await tabbat({ ...onPrimary, ...ports }, 'doctor', '--json')
    expect(asked.stdout).toContain('Its standbys are asynchronous')
  })

  it('has a primary that doctor names if it does not keep what it confirms', async () => {
    const ports = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0' }
    const turnOff = async (name: string) => {
      await execute(primary.url, `ALTER SYSTEM SET ${name} = off`)
      await execute(primary.url, 'SELECT pg_reload_conf()')
      const isOff = async () =>
        (await execute(primary.url, `SELECT current_setting('${name}') = 'off' AS off`))[0]?.off
      await expect.poll(isOff).toBe(true)
      const { code, stdout } = await tabbat({ ...onPrimary, ...ports }, 'doctor', '--json')
      const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; text: string }[] }
      const { status, text = '' } = checks.find(({ check }) => check === 'postgresql') ?? {}
      return [code, status, text.split(':')[0]]
    }
    try {
      expect(await turnOff('full_page_writes')).toEqual([0, 'warning', 'full_page_writes is off'])
      expect(await turnOff('fsync')).toEqual([1, 'failed', 'fsync is off'])
    } finally {
      await execute(primary.url, 'ALTER SYSTEM RESET ALL')
      await execute(primary.url, 'SELECT pg_reload_conf()')
    }
  })

  it('answers commands that only read, and names the reason where one cannot work', async () => {
    const listed = await tabbat(onStandby, 'keys', 'list', '--json')
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'shop' }, { name: 'other' }])
    for (const args of [['keys', 'create', '--name', 'x', '--mode', 'test'], ['nodes']]) {
      const { code, stderr } = await tabbat(onStandby, ...args)
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/PostgreSQL at \S+ is (read-only|a standby, where)/),
      ])
    }
  })

  it('makes its primary keep what it confirms twice, as long as it is connected', async () => {
    const { TABBAT_DATABASE_URL: url = '' } = onPrimary
    const settings = {
      ...{ ...onPrimary, TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0' },
      TABBAT_DATABASE_URL: url.replace(/@([^/]+)/, `@$1,${new URL(standby.url).host}`),
    }
    const examine = async (role = 'postgres') => {
      const TABBAT_DATABASE_URL = settings.TABBAT_DATABASE_URL.replace('//postgres@', `//${role}@`)
      const { stdout } = await tabbat({ ...settings, TABBAT_DATABASE_URL }, 'doctor', '--json')
      const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; text: string }[] }
      const { status, text = '' } = checks.find(({ check }) => check === 'postgresql') ?? {}
      return `${status}: ${text}`
    }
    const reload = (statement: string) => execute(primary.url, statement, 'SELECT pg_reload_conf()')
    const countSynchronous = async () =>
      (await execute(primary.url, "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum'")).length
    try {
      await reload(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'`)
      await expect.poll(countSynchronous).toBe(1)
      const good = 'ok: It can be written, and keeps what it has confirmed, also on a standby.'
      expect(await examine()).toBe(good)
      // Such a role does not see the state of a standby.
      await execute(url, 'CREATE ROLE plain LOGIN', 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO plain')
      expect(await examine('plain')).toBe(good)
      await standby.stop()
      // The setting alone is no standby.
      expect(await examine()).toMatch(/^warning: No standby is connected, .*patronictl list$/)
      expect(await examine('plain')).toMatch(/^warning: No standby is connected/)
    } finally {
      await reload('ALTER SYSTEM RESET ALL')
      standby = await primary.startStandby()
    }
  })
})
