import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Database, Value } from '../../src/database/database.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { apiKeys } from '../../src/store/migrations/0001-api-keys.ts'
import { registry } from '../../src/store/migrations/0002-registry.ts'
import { audit } from '../../src/store/migrations/0003-audit.ts'
import { sources } from '../../src/store/migrations/0004-sources.ts'
import { catalogue } from '../../src/store/migrations/0005-catalogue.ts'
import { admit } from '../../src/store/migrations/0006-admit.ts'
import { consolePeople } from '../../src/store/migrations/0007-console.ts'
import { statistics } from '../../src/store/migrations/0008-statistics.ts'
import { keyLineage } from '../../src/store/migrations/0009-key-lineage.ts'
import { sourceRefunds } from '../../src/store/migrations/0010-source-refunds.ts'
import { paidCalls } from '../../src/store/migrations/0011-paid-calls.ts'
import { catalogueReviews } from '../../src/store/migrations/0012-catalogue-reviews.ts'
import type { StoreOptions } from '../../src/store/store.ts'
import { execute, hasPostgres } from '../postgres.ts'
import { listTables } from '../registry/full-database.ts'
import { describeEngines, ENGINES, POSTGRES } from './engines.ts'

type Schema = readonly {
  readonly id: number
  readonly sql: readonly string[]
  readonly sqlite?: readonly string[]
  readonly postgres?: readonly string[]
}[]

/** The schemas of versions 0.1 and 0.2. */
const SCHEMA_1: Schema = [apiKeys, registry, audit, sources, catalogue, admit, consolePeople, statistics]
const SCHEMA_2: Schema = [...SCHEMA_1, keyLineage, sourceRefunds, paidCalls, catalogueReviews]

/** Not over yet by the clock of PostgreSQL. */
const NOW = Date.now() + 3_600_000
const IDS = ['aaaaaaa1', 'aaaaaaa2'] as const

async function createOldDatabase(
  { dataDir, databaseUrl }: StoreOptions,
  schema = SCHEMA_1,
): Promise<Record<string, number>> {
  const database = databaseUrl ? await openPostgres(databaseUrl) : openSqlite(join(dataDir, 'tabbat.db'))
  await database.prepare('CREATE TABLE schema_version (id BIGINT PRIMARY KEY)').run()
  await database.prepare('CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)').run()
  for (const migration of schema) {
    for (const sql of [...migration.sql, ...(migration[database.dialect] ?? [])])
      await database.prepare(sql).run()
    await database.prepare('INSERT INTO schema_version (id) VALUES ($1)').run(migration.id)
  }
  await fill(database)
  const counts = await countAll(database)
  await database.close()
  return counts
}

const COLUMNS = {
  sqlite: 'SELECT name, type FROM pragma_table_info($1)',
  postgres:
    "SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1",
} as const

/** Two made-up rows in every table. */
async function fill(database: Database): Promise<void> {
  for (const table of await listTables(database)) {
    if (table === 'schema_version') continue
    const columns = await database.prepare(COLUMNS[database.dialect]).all(table)
    const names = columns.map(({ name }) => String(name))
    const insert = database.prepare(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((_name, index) => `$${index + 1}`).join(', ')})`,
    )
    for (const seed of [0, 1])
      await insert.run(...columns.map(({ name, type }) => toValue(String(name), String(type), seed)))
  }
}

function toValue(name: string, type: string, seed: number): Value {
  if (/^bytea$/i.test(type)) return Buffer.alloc(32, seed + 1)
  if (/^bigint$/i.test(type)) return NOW + seed
  return name === 'id' || name === 'key_id' ? (IDS[seed] ?? '') : `text ${seed}`
}

async function countAll(database: Database): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of await listTables(database))
    counts[table] = Number((await database.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get())?.rows)
  return counts
}

describeEngines(ENGINES, (engine) => {
  it('a database of version 0.1 is migrated with all its rows', async () => {
    const place = await engine.createEmptyPlace()
    const { schema_version: _, ...before } = await createOldDatabase(place.options)
    expect(Object.values(before)).not.toContain(0)
    const store = await place.open()
    expect(await countAll(store.database)).toMatchObject(before)

    // Each key from before lineages existed has its own lineage.
    for (const id of IDS) expect((await store.keys.find(id))?.lineage).toBe(id)
    expect((await store.keys.list()).map(({ id, lineage }) => [id, lineage])).toEqual(
      IDS.map((id) => [id, id]),
    )

    // A stored answer is still replayed, and an unfinished claim has no paid calls.
    const claim = { keyId: IDS[0], operation: 'text 0', name: Buffer.alloc(32, 1), owner: 'me' }
    const about = { fingerprint: Buffer.alloc(32, 1), subject: Buffer.alloc(32, 7) }
    const times = { now: NOW - 1, leaseMs: 30_000, expiresAt: NOW + 60_000 }
    expect(await store.idempotency.claim({ ...claim, ...about, ...times })).toMatchObject({ state: 'done' })
    await store.database.prepare('UPDATE idempotency SET sealed = NULL, lease_until = 0').run()
    expect(await store.idempotency.claim({ ...claim, ...about, ...times })).toEqual({
      state: 'claimed',
      paidCalls: 0,
      lastFailure: null,
    })
    await store.close()
  })
})

it.skipIf(!hasPostgres())(
  'a database of version 0.2 that was prepared as the documentation says is migrated without building an index',
  async () => {
    const place = await POSTGRES.createEmptyPlace()
    const url = place.options.databaseUrl ?? ''
    const { schema_version: _, ...before } = await createOldDatabase(place.options, SCHEMA_2)
    const [, block = ''] = /```sql\n([\s\S]*?)```/.exec(readFileSync('docs/upgrading.md', 'utf8')) ?? []
    const statements = block.split(';').map((sql) => sql.trim())
    // It can be repeated.
    for (const sql of [...statements, ...statements].filter(Boolean)) await execute(url, sql)
    const listFiles = async () =>
      (
        await execute(
          url,
          `SELECT pg_relation_filenode(indexrelid) AS file, indisvalid FROM pg_index
           WHERE indrelid IN ('idempotency'::regclass, 'key_subjects'::regclass, to_regclass('audit_first'), to_regclass('audit'))`,
        )
      ).map(({ file }) => file)
    const files = await listFiles()
    const store = await place.open()
    onTestFinished(() => store.close())
    expect(await countAll(store.database)).toMatchObject(before)
    const built = (await listFiles()).filter((file) => file !== null && !files.includes(file))
    expect([statements.filter(Boolean).length, built]).toEqual([7, []])
    expect(
      await execute(
        url,
        "SELECT pg_get_indexdef(indexrelid) AS sql FROM pg_index WHERE indrelid = 'idempotency'::regclass ORDER BY 1",
      ),
    ).toEqual([
      {
        sql: 'CREATE INDEX idempotency_expires ON public.idempotency USING btree (expires_at, subject)',
      },
      {
        sql: 'CREATE UNIQUE INDEX idempotency_pkey ON public.idempotency USING btree (name, key_id, operation)',
      },
    ])
  },
)

it.skipIf(!hasPostgres())(
  'a node of version 0.2 that has read the people of a key can add one while the schema is migrated',
  async () => {
    const place = await POSTGRES.createEmptyPlace()
    const url = place.options.databaseUrl ?? ''
    await createOldDatabase(place.options, SCHEMA_2)
    const node = await openPostgres(url)
    onTestFinished(() => node.close())
    const migrated = await node.transaction(async (inside) => {
      await inside.prepare('SELECT 1 FROM key_subjects').all()
      const opened = place.open()
      const waiting = `SELECT 1 FROM pg_locks WHERE relation = 'key_subjects'::regclass AND NOT granted`
      await expect.poll(async () => (await execute(url, waiting)).length).toBe(1)
      await inside
        .prepare('INSERT INTO key_subjects (key_id, day, subject) VALUES ($1, $2, $3)')
        .run(IDS[0], 1, Buffer.alloc(32, 7))
      return { opened }
    })
    const store = await migrated.opened
    onTestFinished(() => store.close())
    expect(
      await store.database.prepare('SELECT 1 FROM key_subjects WHERE subject = $1').all(Buffer.alloc(32, 7)),
    ).toHaveLength(1)
  },
)
