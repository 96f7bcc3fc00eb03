import { describe, expect, it, onTestFinished } from 'vitest'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { insertRows } from '../../src/backup/restore-backup.ts'
import type { Store } from '../../src/context/store.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { POSTGRES } from '../engines.ts'
import { execute, hasPostgres } from '../postgres.ts'

describe.skipIf(!hasPostgres())('partitions of the audit log', () => {
  async function openPlace(): Promise<{ readonly store: Store; readonly url: string }> {
    const place = await POSTGRES.createPlace()
    const store = await place.open()
    onTestFinished(() => store.close())
    return { store, url: place.options.databaseUrl ?? '' }
  }
  const append = async (store: Store, chain: string) => {
    const head = (await store.audit.head(chain)) ?? EMPTY_HEAD
    await store.audit.append({ rows: store.audit.packRows(linkEntries(chain, head, [{ phase: 'outcome' }])) })
  }
  const listPartitions = async (url: string) =>
    (
      await execute(
        url,
        "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit'::regclass ORDER BY 1",
      )
    ).map(({ name }) => name)

  it('are created for this month and the next two, by several nodes at once', async () => {
    const { store, url } = await openPlace()
    const now = Date.UTC(2030, 10, 30)
    await Promise.all([1, 2, 3, 4].map(() => store.audit.prepareMonths(now)))
    expect(await listPartitions(url)).toEqual([
      'audit_undated',
      'audit_y2030m11',
      'audit_y2030m12',
      'audit_y2031m01',
    ])
  })

  it('are created while a backup reads and a request writes, without waiting for either', async () => {
    const { store, url } = await openPlace()
    const other = await openPostgres(url)
    onTestFinished(() => other.close())
    const values = "('node-1', 1, 'now', 'outcome', 2, '\\x00', '\\x00')"
    await other.transaction(async (tx) => {
      await tx.prepare('SELECT COUNT(*) FROM audit').get()
      await tx
        .prepare(
          `INSERT INTO audit (chain, sequence, time, phase, format, previous_hash, hash) VALUES ${values}`,
        )
        .run()
      await store.audit.prepareMonths(Date.UTC(2030, 0))
    })
    expect(await listPartitions(url)).toContain('audit_y2030m01')
  })

  it('refuse changes, each of them', async () => {
    const { store, url } = await openPlace()
    await store.audit.prepareMonths(Date.UTC(2030, 0))
    for (const chain of ['node-1', 'y2030m01-node-1']) await append(store, chain)
    for (const table of ['audit', ...(await listPartitions(url))])
      for (const sql of [`UPDATE ${table} SET phase = 'x'`, `DELETE FROM ${table}`, `TRUNCATE ${table}`])
        await expect(execute(url, sql)).rejects.toThrow('the audit log cannot be changed')
  })

  it('do not let two processes extend a chain at one place', async () => {
    const { store } = await openPlace()
    await store.audit.prepareMonths(Date.UTC(2030, 0))
    const entries = [{ phase: 'outcome' }, { phase: 'intent' }]
    const writes = entries.map((entry) =>
      store.audit.append({ rows: store.audit.packRows(linkEntries('y2030m01-node-1', EMPTY_HEAD, [entry])) }),
    )
    const results = await Promise.allSettled(writes)
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  it('are created for the chains of a backup', async () => {
    const { store, url } = await openPlace()
    const row = {
      chain: 'y2019m12-node-1',
      sequence: 1,
      time: 't',
      phase: 'p',
      format: 2,
      previous_hash: Buffer.alloc(1),
    }
    const columns = [...Object.keys(row), 'hash']
    await store.database.transaction((tx) =>
      insertRows(tx, 'audit', columns, [[...Object.values(row), Buffer.alloc(1)]]),
    )
    expect(await listPartitions(url)).toEqual(['audit_undated', 'audit_y2019m12'])
  })

  it('a month is removed by a DROP, and the others stay', async () => {
    const { store, url } = await openPlace()
    await store.audit.prepareMonths(Date.UTC(2030, 0))
    for (const month of ['y2030m01', 'y2030m02']) await append(store, `${month}-node-1`)
    await execute(url, 'DROP TABLE audit_y2030m01')
    expect(await store.audit.head('y2030m01-node-1')).toBeUndefined()
    expect(await store.audit.head('y2030m02-node-1')).toMatchObject({ sequence: 1 })
  })
})
