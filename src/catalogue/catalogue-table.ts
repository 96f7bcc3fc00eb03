import { createEvent } from '../contract/event.ts'
import type { Database } from '../database/database.ts'
import {
  defineColumns,
  defineTable,
  number,
  optional,
  type RowOf,
  type TableOf,
  text,
} from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'
import { UserError } from '../errors.ts'
import { appendEvents } from '../ledger/event-table.ts'

const HEAD_COLUMNS = {
  id: number(),
  at: number(),
  /** Where the lists came from: shipped, import, the name of a vendor, or "rollback of 3". */
  origin: text(),
  /** What changed them: the command line, or the schedule. */
  author: text(),
  /** The SHA-256 of the content in hex. */
  digest: text(),
}
const HEAD = defineColumns(HEAD_COLUMNS)
/** With the lists as JSON. */
const VERSION = defineColumns({ ...HEAD_COLUMNS, content: text() })
export type VersionHead = RowOf<typeof HEAD>
export type VersionRow = RowOf<typeof VERSION>
export type NewVersion = Omit<VersionRow, 'id'>

/** When a vendor was last asked for its lists; `outcome` is undefined while a sync is running. */
const SYNC = defineColumns({ source: text(), startedAt: number(), outcome: optional(text()) })

type SyncClaim = { readonly source: string; readonly at: number; readonly everyMs: number }

/** Kept besides the first version, which has the shipped lists of its time. */
type KeptVersions = {
  /** The newest, this many. */
  readonly newest: number
  /** All since the last one that is by another author or not later than `at`, including that one. */
  readonly author: string
  readonly at: number
}

const NEWEST_ID = 'SELECT COALESCE(MAX(id), 0) AS id FROM catalogue_versions'

/** A time in the future was written by a wrong clock, and must not stop the syncs until then. */
const CLAIM = `INSERT INTO catalogue_syncs (source, started_at) VALUES ($1, $2)
  ON CONFLICT (source) DO UPDATE SET started_at = excluded.started_at, outcome = NULL
  WHERE catalogue_syncs.started_at <= $3 OR catalogue_syncs.started_at > $4`

const RECORD = `INSERT INTO catalogue_syncs (source, started_at, outcome) VALUES ($1, $2, $3)
  ON CONFLICT (source) DO UPDATE SET started_at = excluded.started_at, outcome = excluded.outcome`

const NOT_KEPT = `id > 1 AND id <= (SELECT MAX(id) FROM catalogue_versions) - $1
  AND id < (SELECT MAX(id) FROM catalogue_versions WHERE author <> $2 OR at <= $3)`

/** Versions of the catalogue, numbered from 1. Versions are added and never changed; the newest is served, and old ones are deleted. */
export const catalogueTable = defineTable({
  reads: (database) => {
    const newestId = database.prepare(NEWEST_ID)
    const newest = database.prepare(
      `SELECT ${VERSION.names} FROM catalogue_versions ORDER BY id DESC LIMIT 1`,
    )
    const find = database.prepare(`SELECT ${VERSION.names} FROM catalogue_versions WHERE id = $1`)
    const list = database.prepare(`SELECT ${HEAD.names} FROM catalogue_versions ORDER BY id`)
    const syncs = database.prepare(`SELECT ${SYNC.names} FROM catalogue_syncs ORDER BY source`)
    return {
      /** 0 when there is none. */
      newestId: async () => Number((await newestId.get())?.id ?? 0),
      newest: async () => VERSION.decode(await newest.get()),
      find: async (id: number) => VERSION.decode(await find.get(id)),
      /** Without their lists, oldest first. */
      list: async () => (await list.all()).map(HEAD.decode),
      listSyncs: async () => (await syncs.all()).map(SYNC.decode),
    }
  },
  writes: (database) => {
    const claim = database.prepare(CLAIM)
    const record = database.prepare(RECORD)
    return {
      /** Adds versions after the one with this id, and returns the id of the last. Refused when another was added meanwhile. */
      append: (previousId: number, versions: readonly NewVersion[]) =>
        database.transaction((tx) => appendVersions(tx, previousId, versions)),
      /** True when a sync of this vendor is due and this node is the one to run it. */
      claimSync: async ({ source, at, everyMs }: SyncClaim) =>
        (await claim.run(source, at, at - everyMs, at + everyMs)) > 0,
      recordSync: async (source: string, at: number, outcome: string) =>
        void (await record.run(source, at, outcome)),
      /** Deletes some of the versions that are not kept; see delete-some.ts. */
      deleteExpired: ({ newest, author, at }: KeptVersions) =>
        deleteSome(database, 'catalogue_versions', NOT_KEPT, newest, author, at),
    }
  },
})
export type CatalogueTable = TableOf<typeof catalogueTable>

async function appendVersions(
  tx: Database,
  previousId: number,
  versions: readonly NewVersion[],
): Promise<number> {
  await tx.lock('catalogue')
  if (Number((await tx.prepare(NEWEST_ID).get())?.id ?? 0) !== previousId)
    throw new UserError(
      'The catalogue was changed meanwhile, so nothing was saved. Review the new version and try again.',
    )
  const insert = tx.prepare(`INSERT INTO catalogue_versions (${VERSION.names}) VALUES (${VERSION.places})`)
  let id = previousId
  for (const version of versions) await insert.run(...VERSION.encode({ id: ++id, ...version }))
  const newest = versions.at(-1)
  if (newest) await appendEvents(tx, [toChangedEvent(id, newest)])
  return id
}

const toChangedEvent = (version: number, { at, origin }: NewVersion) =>
  createEvent({
    type: 'catalogue.changed',
    at,
    keyId: '',
    reference: 'catalogue',
    data: { reference: 'catalogue', status: 'changed', version, origin },
  })
