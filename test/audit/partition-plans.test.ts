import { Client } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { withAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { defineAuditTable } from '../../src/audit/audit-table.ts'
import { exportRows } from '../../src/audit/export.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { toKeys, toPages } from '../../src/audit/subject-blocks.ts'
import { subjectTable } from '../../src/audit/subject-table.ts'
import type { Store } from '../../src/context/store.ts'
import { toSelectRows } from '../../src/database/postgres-row-pages.ts'
import { endOf, startOf, toMonth } from '../../src/ledger/audit-months.ts'
import { type Recorded, recordStatements } from '../database/record-statements.ts'
import { POSTGRES } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'

const MONTHS = Array.from({ length: 24 }, (_month, later) => toMonth(Date.UTC(2030, 0), later))
const CHAIN = 'y2030m05-node-1'
const SUBJECT = 'ab'.repeat(32)
const ROWS: readonly AuditEntry[] = Array.from({ length: 3 }, () => ({
  phase: 'outcome',
  subject: SUBJECT,
  request_reference: 'ver_1',
}))

describe.skipIf(!hasPostgres())('with 24 months of the audit log in PostgreSQL', () => {
  async function openMonths(): Promise<{ readonly store: Store; readonly client: Client }> {
    const place = await POSTGRES.createPlace()
    const store = await place.open()
    const client = new Client({ connectionString: place.options.databaseUrl })
    await client.connect()
    onTestFinished(async () => {
      await client.end()
      await store.close()
    })
    await client.query('SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan')
    for (const month of MONTHS) {
      await store.audit.prepareMonths(startOf(month))
      const chain = `${month}-node-1`
      await store.audit.claim(chain, null, 'owner', endOf(month))
      await store.audit.append({ rows: store.audit.packRows(linkEntries(chain, EMPTY_HEAD, ROWS)) })
    }
    return { store, client }
  }

  /** The scans of partitions that the statement really executes. */
  async function explain(client: Client, { sql, values }: Recorded): Promise<string[]> {
    const list =
      values.length === 0 ? '' : `(${values.map((value) => client.escapeLiteral(String(value))).join(', ')})`
    await client.query(`PREPARE asked AS ${sql}`)
    const plan = await client.query(
      `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE asked ${list}`,
    )
    await client.query('DEALLOCATE asked')
    return plan.rows
      .map((row) => String(row['QUERY PLAN']))
      .filter((line) => / on audit_(first|y\d{4}m\d\d)\b/.test(line) && !line.includes('never executed'))
  }

  async function record(store: Store, work: (store: Store) => Promise<unknown>): Promise<Recorded[]> {
    const recorded: Recorded[] = []
    const database = recordStatements(store.database, recorded)
    await work({
      ...store,
      database,
      audit: defineAuditTable().create(database),
      subjects: subjectTable.create(database),
    })
    return recorded.filter(({ sql }) => / audit\b/.test(sql))
  }

  const inOneMonth = /^ *(->)? *Index (Only )?Scan .* on audit_y2030m05\b/

  it('queries about a chain read one partition by its index', async () => {
    const { store, client } = await openMonths()
    await store.subjects.insertBlock({
      ...{ chain: CHAIN, first: 1, last: 2 },
      pages: toPages(toKeys([{ sequence: 1, subject: SUBJECT }], 1)),
    })
    const asked = await record(store, async ({ audit, subjects, ...rest }) => {
      await audit.head(CHAIN)
      await audit.find(CHAIN, 2)
      await audit.page(CHAIN, 0, 100)
      await audit.hashes(CHAIN, 0, 3)
      await audit.pageBack(CHAIN, 3, 100)
      await audit.timeFrom(CHAIN, 2)
      await audit.lastUntil(CHAIN, { from: 1, before: 3 }, 'z')
      await subjects.subjects(CHAIN, 0, 3)
      await withAuditSnapshot({ ...rest, audit, subjects } as Store, async (scan) => {
        await scan.rows(CHAIN, 0, 100)
        await scan.hashes(CHAIN, 0, 3)
        await scan.lastSequence(CHAIN)
      })
    })
    expect(asked).toHaveLength(11)
    asked.push({ sql: toSelectRows(client.escapeLiteral(CHAIN), { after: 0, upTo: 3 }), values: [] })
    for (const each of asked)
      expect([each.sql, await explain(client, each)]).toEqual([each.sql, [expect.stringMatching(inOneMonth)]])
  })

  it('the rows of a person and an export read each partition for its own chains only', async () => {
    const { store, client } = await openMonths()
    await store.subjects.insertBlock({
      ...{ chain: CHAIN, first: 1, last: 2 },
      pages: toPages(toKeys([{ sequence: 1, subject: SUBJECT }], 1)),
    })
    const asked = await record(store, async ({ audit }) => {
      expect(await audit.bySubject(SUBJECT)).toHaveLength(MONTHS.length * ROWS.length - 1)
      await Array.fromAsync(exportRows(audit))
    })
    const ofChain = asked.filter(({ values }) => values.length > 0)
    // A search in the block, a scan for each chain, and two pages for each.
    expect(ofChain).toHaveLength(1 + 3 * MONTHS.length)
    for (const each of ofChain) {
      const scans = await explain(client, each)
      expect(scans).toHaveLength(1)
      expect(scans[0]).toContain(` on audit_${String(each.values[0]).slice(0, 8)}`)
      expect(scans[0]).toContain('Index')
    }
    // The ends of all chains: one probe of one partition for each of them.
    for (const each of asked.filter(({ values }) => values.length === 0))
      for (const scan of await explain(client, each)) expect(scan).toMatch(/Index .*loops=1\)$/)
  })

  it('references are looked for in an index of each partition', async () => {
    const { store, client } = await openMonths()
    const asked = await record(store, async ({ audit }) => {
      await audit.byReference('ver_1')
      await audit.periodOf('ver_1')
      await audit.subjectOf('ver_none')
      expect(await audit.byReferences(['ver_1', 'ver_2'], 1000)).toHaveLength(MONTHS.length * ROWS.length)
    })
    expect(asked).toHaveLength(4)
    for (const each of asked) {
      const scans = await explain(client, each)
      expect(scans.length).toBeGreaterThan(MONTHS.length)
      // A bitmap is made by an index as well.
      for (const scan of scans) expect(scan).toMatch(/Index|Bitmap Heap Scan/)
    }
  })

  it('the rows of a reference are read in pages, by an index', async () => {
    const { store, client } = await openMonths()
    const [asked] = await record(store, async ({ audit }) => {
      const page = await audit.pageOfReference('ver_1', { chain: CHAIN, sequence: 2 }, 2)
      expect(page.map(({ chain, sequence }) => `${chain} ${sequence}`)).toEqual([
        `${CHAIN} 3`,
        'y2030m06-node-1 1',
      ])
    })
    for (const scan of await explain(client, asked as Recorded)) expect(scan).toMatch(/Index/)
  })

  it('an append locks the partition of its chain, and no other', async () => {
    const { store } = await openMonths()
    const head = (await store.audit.head(CHAIN)) ?? EMPTY_HEAD
    const locked = await store.database.transaction(async (tx) => {
      const audit = defineAuditTable().create(tx)
      await audit.append({ rows: audit.packRows(linkEntries(CHAIN, head, ROWS)) })
      const rows = await tx
        .prepare(
          `SELECT DISTINCT relname AS name FROM pg_locks JOIN pg_class ON pg_class.oid = relation
           WHERE pid = pg_backend_pid() AND relispartition AND relkind = 'r'`,
        )
        .all()
      return rows.map(({ name }) => name)
    })
    expect(locked).toEqual(['audit_y2030m05'])
  })
})
