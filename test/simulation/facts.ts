import { existsSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Book } from './book.ts'
import type { Cluster, Settings } from './cluster.ts'
import type { Disturbance } from './disturbances.ts'
import type { KeyedHashes } from './keyed-hash.ts'
import type { Delivery } from './receiver.ts'
import type { Template } from './template.ts'
import type { VendorCall } from './vendors.ts'

export type Row = Readonly<Record<string, unknown>>

/** All that is compared after a run: what callers, vendors and receivers saw, and what is stored. */
export type Facts = {
  readonly book: Book
  readonly ledger: readonly VendorCall[]
  readonly deliveries: readonly Delivery[]
  readonly disturbances: readonly Disturbance[]
  readonly settings: Settings
  readonly audit: readonly Row[]
  readonly rows: (table: string) => readonly Row[]
  readonly hashes: KeyedHashes
  readonly restored: readonly Restored[]
  /** What is readable without a key: the bytes of the database, the log, the metrics, the traces and webhooks. */
  readonly readable: readonly { readonly name: string; readonly text: string }[]
}

/** What a restore of a backup gave. */
export type Restored = Pick<Facts, 'audit' | 'rows' | 'readable'> & {
  /** When the backup began: what was confirmed before is in it. */
  readonly begunAt: number
}

type Seen = {
  readonly book: Book
  readonly vendors: { readonly ledger: readonly VendorCall[] }
  readonly receiver: { readonly deliveries: readonly Delivery[] }
  readonly cluster: Cluster
  readonly template: Template
  readonly disturbances: readonly Disturbance[]
  readonly settings: Settings
  readonly restored: readonly Restored[]
  readonly metrics: readonly string[]
}

/** What is in the database at the end. */
export type Stored = {
  readonly tables: ReadonlyMap<string, readonly Row[]>
  /** Sorted by chain and sequence. */
  readonly audit: readonly Row[]
  readonly readable: Facts['readable']
}

/** Reads the database by plain SQL, not by the code of the product. */
export function readSqlite(path: string): Stored {
  const database = new DatabaseSync(path)
  const tables = new Map<string, readonly Row[]>()
  const read = (sql: string) => database.prepare(sql).all() as Row[]
  for (const { name } of read(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  ))
    tables.set(String(name), read(`SELECT * FROM "${name}"`))
  const audit = read('SELECT * FROM audit ORDER BY chain, sequence')
  database.close()
  return { tables, audit, readable: readFiles([path]) }
}

const readFiles = (files: readonly string[]) =>
  files.filter((file) => existsSync(file)).map((name) => ({ name, text: readFileSync(name, 'latin1') }))

/** A value such as 0.8302740000000002 is not the number of a person, although it may have its digits. */
const FRACTION = / \d+\.\d+(e[-+]\d+)?$/gm

export function toFacts({ tables, audit, readable }: Stored, seen: Seen): Facts {
  const { book, vendors, receiver, cluster, template, disturbances, settings, restored, metrics } = seen
  return {
    restored,
    book,
    ledger: vendors.ledger,
    deliveries: receiver.deliveries,
    disturbances,
    settings,
    audit,
    rows: (table) => tables.get(table) ?? [],
    hashes: template.hashes,
    readable: [
      ...readable,
      ...readFiles(cluster.logFiles),
      ...metrics.map((text) => ({ name: 'a page of metrics', text: text.replace(FRACTION, '') })),
      { name: 'a trace', text: [...cluster.spans].join('\n') },
      ...receiver.deliveries.map(({ body }) => ({ name: 'a webhook', text: body })),
    ],
  }
}
