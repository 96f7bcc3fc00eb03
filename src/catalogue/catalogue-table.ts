import { createEvent } from '../contract/event.ts'
import type { Database, Row } from '../database/database.ts'
import { deleteSome } from '../database/delete-some.ts'
import { UserError } from '../errors.ts'
import { appendEvents } from '../ledger/event-table.ts'

export type NewVersion = {
  readonly at: number
  /** Where the lists came from: shipped, import, the name of a vendor, or "rollback of 3". */
  readonly origin: string
  /** What changed them: the command line, or the schedule. */
  readonly author: string
  /** The lists as JSON, and its SHA-256 in hex. */
  readonly content: string
  readonly digest: string
}
export type VersionRow = NewVersion & { readonly id: number }
export type VersionHead = Omit<VersionRow, 'content'>

/** When a vendor was last asked for its lists; `outcome` is undefined while a sync is running. */
type SyncRow = {
  readonly source: string
  readonly startedAt: number
  readonly outcome: string | undefined
}

type SyncClaim = { readonly source: string; readonly at: number; readonly everyMs: number }

/** Kept besides the first version, which has the shipped lists of its time. */
type KeptVersions = {
  /** The newest, this many. */
  readonly newest: number
  /** All since the last one that is by another author or not later than `at`, including that one. */
  readonly author: string
  readonly at: number
}

/** Versions of the catalogue, numbered from 1. Versions are added and never changed; the newest is served, and old ones are deleted. */
export type CatalogueTable = {
  /** 0 when there is none. */
  readonly newestId: () => Promise<number>
  readonly newest: () => Promise<VersionRow | undefined>
  readonly find: (id: number) => Promise<VersionRow | undefined>
  /** Without their lists, oldest first. */
  readonly list: () => Promise<VersionHead[]>
  /** Adds versions after the one with this id, and returns the id of the last. Refused when another was added meanwhile. */
  readonly append: (previousId: number, versions: readonly NewVersion[]) => Promise<number>
  /** True when a sync of this vendor is due and this node is the one to run it. */
  readonly claimSync: (claim: SyncClaim) => Promise<boolean>
  readonly recordSync: (source: string, at: number, outcome: string) => Promise<void>
  /** Deletes some of the versions that are not kept; see delete-some.ts. */
  readonly deleteExpired: (kept: KeptVersions) => Promise<number>
  readonly listSyncs: () => Promise<SyncRow[]>
}

const HEAD = 'id, at, origin, author, digest'
const NEWEST_ID = 'SELECT COALESCE(MAX(id), 0) AS id FROM catalogue_versions'

/** A time in the future was written by a wrong clock, and must not stop the syncs until then. */
const CLAIM = `INSERT INTO catalogue_syncs (source, started_at) VALUES ($1, $2)
  ON CONFLICT (source) DO UPDATE SET started_at = excluded.started_at, outcome = NULL
  WHERE catalogue_syncs.started_at <= $3 OR catalogue_syncs.started_at > $4`

const RECORD = `INSERT INTO catalogue_syncs (source, started_at, outcome) VALUES ($1, $2, $3)
  ON CONFLICT (source) DO UPDATE SET started_at = excluded.started_at, outcome = excluded.outcome`

const NOT_KEPT = `id > 1 AND id <= (SELECT MAX(id) FROM catalogue_versions) - $1
  AND id < (SELECT MAX(id) FROM catalogue_versions WHERE author <> $2 OR at <= $3)`

export function createCatalogueTable(database: Database): CatalogueTable {
  const newestId = database.prepare(NEWEST_ID)
  const newest = database.prepare(`SELECT ${HEAD}, content FROM catalogue_versions ORDER BY id DESC LIMIT 1`)
  const find = database.prepare(`SELECT ${HEAD}, content FROM catalogue_versions WHERE id = $1`)
  const list = database.prepare(`SELECT ${HEAD} FROM catalogue_versions ORDER BY id`)
  const claim = database.prepare(CLAIM)
  const record = database.prepare(RECORD)
  const syncs = database.prepare('SELECT source, started_at, outcome FROM catalogue_syncs ORDER BY source')
  return {
    newestId: async () => Number((await newestId.get())?.id ?? 0),
    newest: async () => toVersion(await newest.get()),
    find: async (id) => toVersion(await find.get(id)),
    list: async () => (await list.all()).map(toHead),
    append: (previousId, versions) => database.transaction((tx) => appendInTx(tx, previousId, versions)),
    claimSync: async ({ source, at, everyMs }) =>
      (await claim.run(source, at, at - everyMs, at + everyMs)) > 0,
    recordSync: async (source, at, outcome) => {
      await record.run(source, at, outcome)
    },
    deleteExpired: ({ newest: kept, author, at }) =>
      deleteSome(database, 'catalogue_versions', NOT_KEPT, kept, author, at),
    listSyncs: async () => (await syncs.all()).map(toSync),
  }
}

async function appendInTx(
  tx: Database,
  previousId: number,
  versions: readonly NewVersion[],
): Promise<number> {
  await tx.lock('catalogue')
  if (Number((await tx.prepare(NEWEST_ID).get())?.id ?? 0) !== previousId)
    throw new UserError(
      'The catalogue was changed meanwhile, so nothing was saved. Review the new version and try again.',
    )
  const insert = tx.prepare(
    `INSERT INTO catalogue_versions (${HEAD}, content) VALUES ($1, $2, $3, $4, $5, $6)`,
  )
  let id = previousId
  for (const { at, origin, author, digest, content } of versions)
    await insert.run(++id, at, origin, author, digest, content)
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

const toHead = (row: Row): VersionHead => ({
  id: Number(row.id),
  at: Number(row.at),
  origin: String(row.origin),
  author: String(row.author),
  digest: String(row.digest),
})

const toVersion = (row: Row | undefined): VersionRow | undefined =>
  row && { ...toHead(row), content: String(row.content) }

const toSync = (row: Row): SyncRow => ({
  source: String(row.source),
  startedAt: Number(row.started_at),
  outcome: row.outcome === null ? undefined : String(row.outcome),
})
