import { type AccountTable, createAccountTable } from '../accounts/account-table.ts'
import { type AdminTokenTable, createAdminTokenTable } from '../accounts/admin-token-table.ts'
import { createFactorTable, type FactorTable } from '../accounts/factor-table.ts'
import { createIdentityTable, type IdentityTable } from '../accounts/identity-table.ts'
import { createPasskeyTable, type PasskeyTable } from '../accounts/passkey-table.ts'
import { createThrottleTable, type ThrottleTable } from '../accounts/throttle-table.ts'
import { type ArchiveTable, createArchiveTable } from '../audit/archive-table.ts'
import { type AuditTable, createAuditTable } from '../audit/audit-table.ts'
import { createLossTable, type LossTable } from '../audit/loss-table.ts'
import { CONSENT_INDEX, createSubjectTable, type SubjectTable } from '../audit/subject-table.ts'
import { type BatchTable, createBatchTable } from '../batches/batch-table.ts'
import { type CatalogueTable, createCatalogueTable } from '../catalogue/catalogue-table.ts'
import { createReviewTable, type ReviewTable } from '../catalogue/review-table.ts'
import type { Database } from '../database/database.ts'
import { createMetaTable, type MetaTable } from '../database/meta-table.ts'
import { createNodeTable, type NodeTable } from '../database/node-table.ts'
import { createStorageTable, type StorageTable } from '../database/storage-table.ts'
import { createKeyTable, type KeyTable } from '../keys/key-table.ts'
import { createRateTable, type RateTable } from '../keys/rate-table.ts'
import { createEventTable, type EventTable } from '../ledger/event-table.ts'
import { createGuessTable, type GuessTable } from '../ledger/guess-table.ts'
import { createIdempotencyTable, type IdempotencyTable } from '../ledger/idempotency-table.ts'
import { createQueueTable, type QueueTable } from '../ledger/queue-table.ts'
import { createRemovalTable, type RemovalTable } from '../ledger/removal-table.ts'
import { createErasureTable, type ErasureTable } from '../people/erasure-table.ts'
import { createPersonTable, type PersonTable } from '../people/person-table.ts'
import { createLookupTable } from '../registry/lookup-table.ts'
import { createRegistryTable, type RegistryTable } from '../registry/registry-table.ts'
import { createRotationTable, type RotationTable } from '../registry/rotation-table.ts'
import { createRequestTable, type RequestTable } from '../requests/request-table.ts'
import type { LookupTable } from '../sources/lookup.ts'
import { createSourceOrderTable, type SourceOrderTable } from '../sources/source-order-table.ts'
import { createSourceTable, type SourceTable } from '../sources/source-table.ts'
import { createSourceCallTable, type SourceCallTable } from '../statistics/source-call-table.ts'
import { createStatisticsTable, type StatisticsTable } from '../statistics/statistics-table.ts'
import { createReuseTable, type ReuseTable } from '../verification/reuse-table.ts'
import { createDeliveryTable, type DeliveryTable } from '../webhooks/delivery-table.ts'
import { createWebhookTable, type WebhookTable } from '../webhooks/webhook-table.ts'

/** Every query of the program, grouped by table. An absent value is undefined. */
export type Tables = {
  readonly keys: KeyTable
  readonly meta: MetaTable
  readonly registry: RegistryTable
  readonly guesses: GuessTable
  readonly audit: AuditTable
  readonly losses: LossTable
  readonly archives: ArchiveTable
  readonly idempotency: IdempotencyTable
  readonly lookups: LookupTable
  readonly erasure: ErasureTable
  readonly people: PersonTable
  readonly rotation: RotationTable
  readonly sources: SourceTable
  readonly sourceCalls: SourceCallTable
  readonly sourceOrders: SourceOrderTable
  readonly reuse: ReuseTable
  readonly catalogue: CatalogueTable
  readonly reviews: ReviewTable
  readonly accounts: AccountTable
  readonly adminTokens: AdminTokenTable
  readonly factors: FactorTable
  readonly passkeys: PasskeyTable
  readonly identities: IdentityTable
  readonly throttle: ThrottleTable
  readonly statistics: StatisticsTable
  readonly subjects: SubjectTable
  readonly storage: StorageTable
  readonly consents: SubjectTable
  readonly nodes: NodeTable
  readonly rates: RateTable
  readonly events: EventTable
  readonly webhooks: WebhookTable
  readonly deliveries: DeliveryTable
  readonly queue: QueueTable
  readonly batches: BatchTable
  readonly requests: RequestTable
  readonly removals: RemovalTable
}

export const createTables = (database: Database): Tables => ({
  keys: createKeyTable(database),
  meta: createMetaTable(database),
  registry: createRegistryTable(database),
  guesses: createGuessTable(database),
  audit: createAuditTable(database),
  losses: createLossTable(database),
  archives: createArchiveTable(database),
  idempotency: createIdempotencyTable(database),
  lookups: createLookupTable(database),
  erasure: createErasureTable(database),
  people: createPersonTable(database),
  rotation: createRotationTable(database),
  sources: createSourceTable(database),
  sourceCalls: createSourceCallTable(database),
  sourceOrders: createSourceOrderTable(database),
  reuse: createReuseTable(database),
  catalogue: createCatalogueTable(database),
  reviews: createReviewTable(database),
  accounts: createAccountTable(database),
  adminTokens: createAdminTokenTable(database),
  factors: createFactorTable(database),
  passkeys: createPasskeyTable(database),
  identities: createIdentityTable(database),
  throttle: createThrottleTable(database),
  statistics: createStatisticsTable(database),
  subjects: createSubjectTable(database),
  storage: createStorageTable(database),
  consents: createSubjectTable(database, CONSENT_INDEX),
  nodes: createNodeTable(database),
  rates: createRateTable(database),
  events: createEventTable(database),
  webhooks: createWebhookTable(database),
  deliveries: createDeliveryTable(database),
  queue: createQueueTable(database),
  batches: createBatchTable(database),
  requests: createRequestTable(database),
  removals: createRemovalTable(database),
})

/** The methods that write. A server on SQLite runs them in a writer thread, so that the event loop never waits for the disk. */
export const WRITES: { readonly [Table in keyof Tables]: readonly (keyof Tables[Table])[] } = {
  keys: ['insert', 'change', 'revoke', 'roll'],
  meta: ['insert', 'set'],
  registry: ['save', 'finishImport', 'eraseOld'],
  guesses: ['admit', 'check', 'withdraw', 'confirm', 'withdrawAll', 'unlock', 'deleteExpired'],
  audit: ['append', 'insertPolicies', 'claim', 'sendHeartbeat', 'release', 'retire', 'insertCheckpoint'],
  losses: ['insert', 'accept'],
  archives: ['record', 'removeRows', 'removeBlocks', 'removeCheckpoints', 'finish'],
  idempotency: ['claim', 'release', 'deleteExpired'],
  lookups: [],
  people: [],
  rotation: ['begin', 'replace', 'finish'],
  sources: ['disable', 'enable', 'spend', 'refund', 'publish', 'retire', 'deleteExpired'],
  sourceCalls: ['add', 'deleteExpired'],
  sourceOrders: ['set', 'remove'],
  reuse: ['keep', 'deleteExpired'],
  erasure: ['erase', 'eraseAgain', 'eraseKept', 'eraseLate'],
  catalogue: ['append', 'claimSync', 'recordSync', 'deleteExpired'],
  reviews: ['raise', 'decide', 'withdraw', 'deleteExpired'],
  factors: ['addTotp', 'replaceRecoveryCodes', 'removeTotp', 'reset'],
  passkeys: ['add', 'use', 'remove', 'deleteExpired'],
  identities: ['create'],
  throttle: ['begin', 'fail', 'takeOff', 'succeed', 'reset', 'deleteExpired'],
  statistics: ['addLatencies', 'deleteExpired'],
  subjects: ['insertBlock'],
  storage: ['record'],
  consents: ['insertBlock'],
  nodes: ['sendHeartbeat', 'leave', 'deleteExpired'],
  rates: ['lease', 'giveBack', 'deleteExpired'],
  events: ['append', 'change', 'markLogged'],
  webhooks: ['insert', 'roll', 'disable', 'enable', 'remove'],
  deliveries: ['claim', 'release', 'settle', 'resend', 'deleteExpired'],
  queue: ['enqueue', 'claim', 'claimExpired', 'release', 'deleteExpired'],
  adminTokens: ['insert', 'revoke', 'touch'],
  batches: ['begin', 'addRows', 'breakOff', 'feed', 'deleteExpired'],
  requests: ['append', 'deleteExpired'],
  removals: [],
  accounts: [
    'invite',
    'voidInvitation',
    'accept',
    'acceptReset',
    'open',
    'touch',
    'end',
    'endAll',
    'confirm',
    'setPassword',
    'setRole',
    'remove',
    'deleteExpired',
  ],
}
