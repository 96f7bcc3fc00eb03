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
  const open = () => {
    const hosts = `${new URL(replaced.url).host},127.0.0.1:${network.port}`
    const databaseUrl = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`
    return openStore({
      dataDir: newFolder(),
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

  it('is told from one whose timeline the user may not read any more', async () => {
    const { host } = new URL(promoted.url)
    await execute(promoted.url, 'CREATE ROLE plain LOGIN')
    const hosts = createPostgresHosts(
      `postgres://plain@${host},${host}/postgres?target_session_attrs=read-write`,
    )
    const client = new Client({ connectionString: `postgres://plain@${host}/postgres` })
    await client.connect()
    try {
      expect(await hosts.check(client)).toBeGreaterThan(0)
      await execute(promoted.url, 'REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC')
      expect(await hosts.check(client)).toBeGreaterThan(0)
    } finally {
      await client.end()
    }
  })
})
