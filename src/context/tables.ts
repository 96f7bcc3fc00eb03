import { accountTable } from '../accounts/account-table.ts'
import { adminTokenTable } from '../accounts/admin-token-table.ts'
import { factorTable } from '../accounts/factor-table.ts'
import { identityTable } from '../accounts/identity-table.ts'
import { passkeyTable } from '../accounts/passkey-table.ts'
import { throttleTable } from '../accounts/throttle-table.ts'
import { archiveTable } from '../audit/archive-table.ts'
import { defineAuditTable } from '../audit/audit-table.ts'
import { lossTable } from '../audit/loss-table.ts'
import { consentTable, subjectTable } from '../audit/subject-table.ts'
import { BATCH_GROUPS } from '../batches/batch-groups.ts'
import { batchTable } from '../batches/batch-table.ts'
import { catalogueTable } from '../catalogue/catalogue-table.ts'
import { reviewTable } from '../catalogue/review-table.ts'
import type { Database } from '../database/database.ts'
import type { Table, TableOf } from '../database/define-table.ts'
import { metaTable } from '../database/meta-table.ts'
import { nodeTable } from '../database/node-table.ts'
import { storageTable } from '../database/storage-table.ts'
import { keyTable } from '../keys/key-table.ts'
import { rateTable } from '../keys/rate-table.ts'
import { eventTable } from '../ledger/event-table.ts'
import { guessTable } from '../ledger/guess-table.ts'
import { idempotencyTable } from '../ledger/idempotency-table.ts'
import { defineQueueTable } from '../ledger/queue-table.ts'
import { removalTable } from '../ledger/removal-table.ts'
import { incidentTable } from '../notices/incident-table.ts'
import { erasureTable } from '../people/erasure-table.ts'
import { personTable } from '../people/person-table.ts'
import { lookupTable } from '../registry/lookup-table.ts'
import { registryTable } from '../registry/registry-table.ts'
import { rotationTable } from '../registry/rotation-table.ts'
import { requestTable } from '../requests/request-table.ts'
import { proofTable } from '../sources/proof-table.ts'
import { sourceOrderTable } from '../sources/source-order.ts'
import { sourceTable } from '../sources/source-table.ts'
import { spendTable } from '../sources/spend-table.ts'
import { sourceCallTable } from '../statistics/source-call-table.ts'
import { statisticsTable } from '../statistics/statistics-table.ts'
import { reuseTable } from '../verification/reuse-table.ts'
import { deliveryTable } from '../webhooks/delivery-table.ts'
import { webhookTable } from '../webhooks/webhook-table.ts'

/** Every query of the program, grouped by table. An absent value is undefined. */
const TABLES = {
  keys: keyTable,
  meta: metaTable,
  registry: registryTable,
  guesses: guessTable,
  audit: defineAuditTable(BATCH_GROUPS),
  losses: lossTable,
  archives: archiveTable,
  idempotency: idempotencyTable,
  lookups: lookupTable,
  erasure: erasureTable,
  people: personTable,
  rotation: rotationTable,
  sources: sourceTable,
  spend: spendTable,
  sourceCalls: sourceCallTable,
  sourceOrders: sourceOrderTable,
  proofs: proofTable,
  reuse: reuseTable,
  catalogue: catalogueTable,
  reviews: reviewTable,
  accounts: accountTable,
  adminTokens: adminTokenTable,
  factors: factorTable,
  passkeys: passkeyTable,
  identities: identityTable,
  throttle: throttleTable,
  statistics: statisticsTable,
  subjects: subjectTable,
  storage: storageTable,
  consents: consentTable,
  nodes: nodeTable,
  rates: rateTable,
  events: eventTable,
  webhooks: webhookTable,
  deliveries: deliveryTable,
  queue: defineQueueTable(BATCH_GROUPS),
  batches: batchTable,
  requests: requestTable,
  removals: removalTable,
  incidents: incidentTable,
}

export type Tables = { readonly [Name in keyof typeof TABLES]: TableOf<(typeof TABLES)[Name]> }

export const createTables = (database: Database): Tables => mapTables((table) => table.create(database))

type Send = (job: {
  readonly table: string
  readonly method: string
  readonly args: readonly unknown[]
}) => Promise<unknown>

/** The same tables, with the writing methods sent to another thread. */
export const createReadingTables = (database: Database, send: Send): Tables =>
  mapTables((table, name) =>
    table.createReader(database, (method, args) => send({ table: name, method, args })),
  )

const mapTables = (create: (table: Table<unknown>, name: string) => unknown) =>
  Object.fromEntries(Object.entries(TABLES).map(([name, table]) => [name, create(table, name)])) as Tables
