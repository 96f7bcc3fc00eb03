import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/context/store.ts'
import { createPostgresHosts } from '../../src/database/postgres-pool.ts'
import { startTcpProxy, type TcpProxy } from '../cluster/tcp-proxy.ts'
import { newFolder } from '../engines.ts'
import { execute, hasOwnPostgres, type Postgres, type Standby, startOwnPostgres } from '../postgres.ts'

const RECOVERY = { interval: 20 }

/**
 * A primary that does not know that its standby was promoted: its Patroni hangs, or it is cut off from etcd. It accepts
 * connections and transactions, and its commits wait for the standby.
 */
describe.skipIf(!hasOwnPostgres())('a primary that was replaced', () => {
  let replaced: Postgres
  let promoted: Standby
  let network: TcpProxy
  let store: Store
  const open = (dataDir = newFolder()) => {
    const hosts = `${new URL(replaced.url).host},127.0.0.1:${network.port}`
    const databaseUrl = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`
    return openStore({
      dataDir,
      databaseUrl,
      writerThread: true,
      timeoutMs: 1000,
      startWaitMs: 0,
    })
  }
  /** Its commits wait for this standby. */
  const setStandby = (name: string) =>
    execute(
      replaced.url,
      'SET synchronous_commit = local',
      `ALTER SYSTEM SET synchronous_standby_names = '${name}'`,
      'SELECT pg_reload_conf()',
    )
  const write = (value: string) =>
    store.meta.set({ carried_keys: value }).then(
      () => 'written',
      (error: Error) => error.message,
    )
  const readFrom = async ({ url }: { readonly url: string }) =>
    (await execute(url, "SELECT value FROM meta WHERE name = 'carried_keys'"))[0]?.value

  beforeAll(async () => {
    replaced = await startOwnPostgres()
    await (await openStore({ dataDir: newFolder(), databaseUrl: replaced.url })).close()
    promoted = await replaced.startStandby()
    network = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(promoted.url).port) })
    store = await open()
  })
  afterAll(async () => {
    await store.close()
    await network.close()
    await promoted.stop()
    await replaced.stop()
  })

  it('is left when its commits are not confirmed, for the server that was promoted', async () => {
    expect(await write('before')).toBe('written')
    expect(await readFrom(replaced)).toBe('before')
    await setStandby('gone')
    // The first waits for the standby, the next one for the row that the first has locked.
    await expect.poll(() => write('unconfirmed'), RECOVERY).toMatch(/canceling statement/)
    await execute(promoted.url, 'SELECT pg_promote()')
    await expect.poll(() => write('after'), RECOVERY).toBe('written')
    expect(await readFrom(promoted)).toBe('after')
  })

  it('is not written again, also when it confirms commits and the promoted server is gone', async () => {
    await setStandby('')
    network.set('refuse')
    await expect.poll(() => write('lost'), RECOVERY).toBe('another server was promoted in its place')
    // What waited for the standby may be there now.
    expect(await readFrom(replaced)).not.toBe('lost')
    network.set('pass')
    await expect.poll(() => write('again'), RECOVERY).toBe('written')
    expect(await readFrom(promoted)).toBe('again')
  })

  it('is not chosen at a start, although it comes first', async () => {
    const started = await open()
    expect((await started.meta.read()).carried_keys).toBe('again')
    await started.close()
  })

  describe('at a start while the promoted server does not answer', () => {
    const readSystem = async () =>
      (await execute(replaced.url, 'SELECT system_identifier::text FROM pg_control_system()'))[0]
        ?.system_identifier
    /** What a start finds while only the replaced one answers. */
    const openAlone = async (dataDir: string) => {
      network.set('refuse')
      try {
        const started = await open(dataDir)
        const { carried_keys: value } = await started.meta.read()
        await started.close()
        return value
      } finally {
        network.set('pass')
      }
    }

    it('is not chosen by a node that has seen its successor, also in an earlier run', async () => {
      const dataDir = newFolder()
      await (await open(dataDir)).close()
      const path = join(dataDir, 'postgres.timeline')
      expect(readFileSync(path, 'utf8')).toBe(`${await readSystem()} 2\n`)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      await expect(openAlone(dataDir)).rejects.toThrow(/was replaced.* delete postgres\.timeline/)
      expect(readFileSync(path, 'utf8')).toBe(`${await readSystem()} 2\n`)
    })

    it.each([
      ['of another cluster', '1234567890123456789 7\n'],
      ['without a number', 'x\n'],
      ['of a lower timeline', undefined],
    ])('is chosen with a file %s, which is then its own', async (_, text) => {
      const dataDir = newFolder()
      const path = join(dataDir, 'postgres.timeline')
      writeFileSync(path, text ?? `${await readSystem()} 0\n`)
      expect(await openAlone(dataDir)).not.toBe('again')
      expect(readFileSync(path, 'utf8')).toBe(`${await readSystem()} 1\n`)
    })

    it('is chosen if the file could not be written', async () => {
      const dataDir = newFolder()
      mkdirSync(join(dataDir, 'postgres.timeline'))
      await (await open(dataDir)).close()
      expect(await openAlone(dataDir)).not.toBe('again')
    })
  })

  it('is told from one whose timeline the user may not read any more', async () => {
    const { host } = new URL(promoted.url)
    await execute(promoted.url, 'CREATE ROLE plain LOGIN')
    const createHosts = (dataDir: string) =>
      createPostgresHosts(
        `postgres://plain@${host},${host}/postgres?target_session_attrs=read-write`,
        dataDir,
      )
    const [folder, other] = [newFolder(), newFolder()]
    const hosts = createHosts(folder)
    const client = new Client({ connectionString: `postgres://plain@${host}/postgres` })
    await client.connect()
    try {
      expect(await hosts.check(client)).toBeGreaterThan(0)
      expect(existsSync(join(folder, 'postgres.timeline'))).toBe(true)
      await execute(promoted.url, 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC')
      expect(await createHosts(other).check(client)).toBeGreaterThan(0)
      await execute(promoted.url, 'REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC')
      expect(await hosts.check(client)).toBeGreaterThan(0)
      expect(await createHosts(other).check(client)).toBeGreaterThan(0)
      expect(existsSync(join(other, 'postgres.timeline'))).toBe(false)
    } finally {
      await client.end()
    }
  })
})
