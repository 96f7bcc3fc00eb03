import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/context/store.ts'
import { newFolder } from '../engines.ts'
import { execute, hasOwnPostgres, type Postgres, startOwnPostgres } from '../postgres.ts'

const RECOVERY = { interval: 20 }

/** Two servers of their own stand for a primary and a standby: their roles are exchanged by a setting. */
describe.skipIf(!hasOwnPostgres())('several hosts of PostgreSQL', () => {
  let first: Postgres
  let second: Postgres
  let url: string
  const setReadOnly = async (server: Postgres, value: 'on' | 'off') => {
    await execute(
      server.url,
      `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
      'SELECT pg_reload_conf()',
    )
    // The server reads its settings a moment later.
    const read = async () => (await execute(server.url, 'SHOW default_transaction_read_only'))[0]
    await expect.poll(read, RECOVERY).toEqual({ default_transaction_read_only: value })
  }
  const open = (databaseUrl = url, startWaitMs = 0) =>
    openStore({ dataDir: newFolder(), databaseUrl, startWaitMs, writerThread: true })
  const readFrom = async (server: Postgres) =>
    (await execute(server.url, "SELECT value FROM meta WHERE name = 'carried_keys'"))[0]?.value
  /** Until the store has found a server that can be written. */
  const write = (store: Store, value: string) =>
    expect
      .poll(
        () =>
          store.meta.set({ carried_keys: value }).then(
            () => true,
            () => false,
          ),
        RECOVERY,
      )
      .toBe(true)

  beforeAll(async () => {
    first = await startOwnPostgres()
    second = await startOwnPostgres()
    for (const server of [first, second]) await (await open(server.url)).close()
    const hosts = [first, second].map((server) => new URL(server.url).host).join(',')
    url = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`
  })
  afterAll(async () => {
    await first.stop()
    await second.stop()
  })

  it('the one that can be written is used, wherever it stands in the list', async () => {
    await setReadOnly(first, 'on')
    const store = await open()
    await store.meta.set({ carried_keys: 'on the second' })
    expect(await readFrom(second)).toBe('on the second')
    expect(await readFrom(first)).toBeUndefined()
    await store.close()
    await setReadOnly(first, 'off')
  })

  it('connections to a server that became read-only are dropped, and the other one is used', async () => {
    await setReadOnly(second, 'on')
    const store = await open()
    // Several connections, all of which must be left.
    await Promise.all(Array.from({ length: 5 }, () => store.meta.read()))
    await store.meta.set({ carried_keys: 'before' })
    expect(await readFrom(first)).toBe('before')
    await setReadOnly(second, 'off')
    await setReadOnly(first, 'on')
    await write(store, 'after')
    expect(await readFrom(first)).toBe('before')
    expect(await readFrom(second)).toBe('after')
    const reads = await Promise.all(Array.from({ length: 5 }, () => store.meta.read()))
    for (const read of reads) expect(read.carried_keys).toBe('after')
    await store.close()
    await setReadOnly(first, 'off')
  })

  it('a start waits until one can be written, and says so if none can', async () => {
    await setReadOnly(first, 'on')
    await setReadOnly(second, 'on')
    await expect(open()).rejects.toThrow(/is read-only\. Promote a server/)
    const opening = open(url, 30_000)
    await setReadOnly(second, 'off')
    const store = await opening
    await store.meta.set({ carried_keys: 'promoted' })
    expect(await readFrom(second)).toBe('promoted')
    await store.close()
    await setReadOnly(first, 'off')
  })

  it('the death of a server is survived', async () => {
    await setReadOnly(second, 'on')
    const store = await open()
    await store.meta.set({ carried_keys: 'alive' })
    await first.crash()
    await setReadOnly(second, 'off')
    await write(store, 'survived')
    expect(await readFrom(second)).toBe('survived')
    await store.close()
    // With the first of the list dead, too.
    await (await open()).close()
  })
})
