import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Row, Stored } from '../facts.ts'
import { createTemplate, type Template } from '../template.ts'
import { RealServer } from './real-server.ts'
import { postgres } from './server.ts'

/** The driver connects to the simulated server, whatever the address is. */
const ADDRESS = 'postgres://tabbat@127.0.0.1:5432/tabbat'

/** Nodes on PostgreSQL have data folders of their own. */
const PLACES = [1, 2, 3]
const toFolder = (place: number) => `node${place}`

/** The clock of the server is the content of a file. */
const toClock = (file: string) =>
  ['now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp'].flatMap((name) => [
    `ALTER FUNCTION pg_catalog.${name}() RENAME TO real_${name}`,
    `CREATE FUNCTION pg_catalog.${name}() RETURNS timestamptz LANGUAGE sql STABLE AS
      $$ SELECT to_timestamp(pg_read_file('${file}')::double precision / 1000) $$`,
  ])

/** A template database on a real server, of which every run gets a copy. */
export async function createPostgresTemplate(root: string, url: string): Promise<Template> {
  // Outside of the root, which only its owner can read: PostgreSQL may run under another account.
  const clockDir = mkdtempSync(join(tmpdir(), 'tabbat-clock-'))
  chmodSync(clockDir, 0o755)
  process.on('exit', () => rmSync(clockDir, { recursive: true, force: true }))
  const real = await RealServer.open(url, join(clockDir, 'clock'))
  real.setClock(0)
  const name = `simulation_${process.ppid}_${Buffer.from(clockDir.slice(-6)).toString('hex')}`
  const copy = `${name}_run`
  await real.query(`CREATE DATABASE ${name}`)
  await real.inDatabase(name, async (client) => {
    await client.query('SET allow_system_table_mods = on')
    for (const sql of toClock(real.clockFile)) await client.query(sql)
  })
  postgres.begin(real, name)
  const settings = { TABBAT_DATABASE_URL: ADDRESS }
  const template = await createTemplate(root, 'postgres', settings)
  postgres.end()
  return {
    ...template,
    engine: 'postgres',
    copy: async (to) => {
      for (const place of PLACES) cpSync(template.folder, join(to, toFolder(place)), { recursive: true })
      await real.query(`DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`)
      await real.query(`CREATE DATABASE ${copy} TEMPLATE ${name} STRATEGY FILE_COPY`)
      postgres.begin(real, copy)
    },
    toSettings: (dataDir, place) => ({ ...settings, TABBAT_DATA_DIR: join(dataDir, toFolder(place)) }),
    read: async () => {
      postgres.end()
      return real.inDatabase(copy, readTables)
    },
  }
}

type Reader = { readonly query: (sql: string) => Promise<{ readonly rows: Row[] }> }

async function readTables(client: Reader): Promise<Stored> {
  const read = async (sql: string) => (await client.query(sql)).rows
  const names = await read(
    `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
      AND relnamespace = 'public'::regnamespace ORDER BY relname`,
  )
  const tables = new Map<string, readonly Row[]>()
  for (const { name } of names) tables.set(String(name), await read(`SELECT * FROM "${name}"`))
  return {
    tables,
    audit: await read('SELECT * FROM audit ORDER BY chain, sequence'),
    readable: [...tables].map(([name, rows]) => ({ name: `the table ${name}`, text: toReadable(rows) })),
  }
}

const toReadable = (rows: readonly Row[]) =>
  rows.map((row) => Object.values(row).map(toPlain).join('\t')).join('\n')

const toPlain = (value: unknown): string => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
