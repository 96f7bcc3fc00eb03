import type { Database } from '../database/database.ts'
import { UserError } from '../errors.ts'
import { apiKeys } from './migrations/0001-api-keys.ts'
import { registry } from './migrations/0002-registry.ts'
import { audit } from './migrations/0003-audit.ts'
import { sources } from './migrations/0004-sources.ts'
import { catalogue } from './migrations/0005-catalogue.ts'
import { admit } from './migrations/0006-admit.ts'
import { consolePeople } from './migrations/0007-console.ts'
import { statistics } from './migrations/0008-statistics.ts'
import { keyLineage } from './migrations/0009-key-lineage.ts'
import { sourceRefunds } from './migrations/0010-source-refunds.ts'
import { paidCalls } from './migrations/0011-paid-calls.ts'
import { catalogueReviews } from './migrations/0012-catalogue-reviews.ts'
import { auditFormat2 } from './migrations/0013-audit-format-2.ts'
import { checkVerifications } from './migrations/0014-check-verifications.ts'
import { subjectBlocks } from './migrations/0015-subject-blocks.ts'
import { appendPeople } from './migrations/0016-append-people.ts'
import { retiredChains } from './migrations/0017-retired-chains.ts'
import { indexPlans } from './migrations/0018-index-plans.ts'
import { clientCerts } from './migrations/0019-client-certs.ts'
import { idempotencyIndex } from './migrations/0020-idempotency-index.ts'
import { storeAtOnce } from './migrations/0021-store-at-once.ts'
import { auditLosses } from './migrations/0022-audit-losses.ts'
import { autovacuum } from './migrations/0023-autovacuum.ts'
import { nameFirst } from './migrations/0024-name-first.ts'
import { nodes } from './migrations/0025-nodes.ts'
import { rateWindows } from './migrations/0026-rate-windows.ts'
import { webhooks } from './migrations/0027-webhooks.ts'
import { auditMonths } from './migrations/0028-audit-months.ts'
import { verificationQueue } from './migrations/0029-verification-queue.ts'
import { batches } from './migrations/0030-batches.ts'
import { asyncWhenDown } from './migrations/0031-async-when-down.ts'
import { unloggedEvents } from './migrations/0032-unlogged-events.ts'
import { requireMatch } from './migrations/0033-require-match.ts'
import { requestLog } from './migrations/0034-request-log.ts'
import { sourceCalls } from './migrations/0035-source-calls.ts'
import { sourceOrders } from './migrations/0036-source-orders.ts'
import { adminTokens } from './migrations/0037-admin-tokens.ts'
import { batchProgress } from './migrations/0038-batch-progress.ts'
import { auditArchives } from './migrations/0039-audit-archives.ts'
import { registryAge } from './migrations/0040-registry-age.ts'
import { storageSizes } from './migrations/0041-storage-sizes.ts'
import { signInFailures } from './migrations/0042-sign-in-failures.ts'
import { sessionDetails } from './migrations/0043-session-details.ts'
import { secondFactors } from './migrations/0044-second-factors.ts'
import { passkeys } from './migrations/0045-passkeys.ts'
import { identities } from './migrations/0046-identities.ts'
import { erasures } from './migrations/0047-erasures.ts'
import { consentBlocks } from './migrations/0048-consent-blocks.ts'
import { keyNotes } from './migrations/0049-key-notes.ts'
import { witness } from './migrations/0050-witness.ts'
import { keySpend } from './migrations/0051-key-spend.ts'
import { keyLifetime } from './migrations/0052-key-lifetime.ts'
import { records } from './migrations/0053-records.ts'
import { queueByKey } from './migrations/0054-queue-by-key.ts'
import { removedAccess } from './migrations/0055-removed-access.ts'
import { requestFilters } from './migrations/0056-request-filters.ts'
import { queueByTime } from './migrations/0057-queue-by-time.ts'
import { noWitness } from './migrations/0058-no-witness.ts'

/** `sql` runs on both engines; statements that differ stand under the name of the dialect. */
type Migration = {
  readonly id: number
  readonly sql: readonly string[]
  readonly sqlite?: readonly string[]
  readonly postgres?: readonly string[]
}

/** Numbered, forward only. A migration that was released is never changed. */
const MIGRATIONS: readonly Migration[] = [
  apiKeys,
  registry,
  audit,
  sources,
  catalogue,
  admit,
  consolePeople,
  statistics,
  keyLineage,
  sourceRefunds,
  paidCalls,
  catalogueReviews,
  auditFormat2,
  checkVerifications,
  subjectBlocks,
  appendPeople,
  retiredChains,
  indexPlans,
  clientCerts,
  idempotencyIndex,
  storeAtOnce,
  auditLosses,
  autovacuum,
  nameFirst,
  nodes,
  rateWindows,
  webhooks,
  auditMonths,
  verificationQueue,
  batches,
  asyncWhenDown,
  unloggedEvents,
  requireMatch,
  requestLog,
  sourceCalls,
  sourceOrders,
  adminTokens,
  batchProgress,
  auditArchives,
  registryAge,
  storageSizes,
  signInFailures,
  sessionDetails,
  secondFactors,
  passkeys,
  identities,
  erasures,
  consentBlocks,
  keyNotes,
  witness,
  keySpend,
  keyLifetime,
  records,
  queueByKey,
  removedAccess,
  requestFilters,
  queueByTime,
  noWitness,
]

/** The schema that this program knows. */
export const SCHEMA_VERSION = MIGRATIONS.length

/**
 * Migrates the schema in one transaction: a crash leaves the tables unchanged, and of several nodes that start at once, one
 * migrates while the others wait.
 */
export async function migrate(database: Database): Promise<void> {
  await database.transaction(migrateInside, { patient: true })
}

async function migrateInside(inside: Database): Promise<void> {
  await inside.lock('migrate')
  await refuseForeignTables(inside)
  await inside.prepare('CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY)').run()
  await inside.prepare('CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)').run()
  const current = await readVersion(inside)
  for (const migration of MIGRATIONS.slice(current)) {
    for (const sql of [...migration.sql, ...(migration[inside.dialect] ?? [])])
      await inside.prepare(sql).run()
    await inside.prepare('INSERT INTO schema_version (id) VALUES ($1)').run(migration.id)
  }
}

/** The database has an older schema, or none, and must not be changed. */
export class OlderSchema extends UserError {
  /** 0: there are no tables. */
  readonly schema: number

  constructor(schema: number) {
    super(
      schema === 0
        ? 'The database has no tables of Tabbat yet. Start the server first.'
        : `The database has schema ${schema}, and this Tabbat needs ${SCHEMA_VERSION}. The next start of the server changes it.`,
    )
    this.schema = schema
  }
}

/** Instead of a migration: throws unless the schema is the one of this program. Nothing is changed. */
export async function requireSchema(database: Database): Promise<void> {
  const hasTables = await refuseForeignTables(database)
  const current = hasTables ? await readVersion(database) : 0
  if (current < SCHEMA_VERSION) throw new OlderSchema(current)
}

async function readVersion(database: Database): Promise<number> {
  const row = await database.prepare('SELECT COALESCE(MAX(id), 0) AS id FROM schema_version').get()
  const current = Number(row?.id ?? 0)
  if (current <= SCHEMA_VERSION) return current
  throw new UserError(
    `The database was made by a newer Tabbat (schema ${current}, this one knows ${SCHEMA_VERSION}). Update Tabbat.`,
  )
}

const LIST_TABLES = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table'",
  postgres: 'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
} as const

/** A database with tables, but without schema_version, belongs to another program. Returns whether there are tables. */
async function refuseForeignTables(inside: Database): Promise<boolean> {
  const tables = await inside.prepare(LIST_TABLES[inside.dialect]).all()
  if (tables.length > 0 && !tables.some(({ name }) => name === 'schema_version'))
    throw new UserError(
      'The database holds tables of another program. Give Tabbat one of its own: set TABBAT_DATA_DIR or TABBAT_DATABASE_URL.',
    )
  return tables.length > 0
}
