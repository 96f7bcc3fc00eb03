export type { Schemas } from './api.ts'
export type { Batch, Batches, BatchOptions, BatchResult, BatchRow, NewBatch } from './batches.ts'
export { type ErrorCode, TabbatError } from './error.ts'
export type { PendingVerifications } from './pending.ts'
export type { BvnPerson, BvnRequest, NinPerson, NinRequest } from './person.ts'
export {
  createTabbat,
  type InternetBundle,
  type SmeBundle,
  type Tabbat,
  type TvAddOn,
  type TvAddOnsRequest,
} from './tabbat.ts'
export type { CallOptions, TabbatOptions } from './transport.ts'
export type {
  Match,
  MatchLevel,
  NotVerified,
  Pending,
  VerificationResult,
  Verified,
  VerifyOptions,
} from './verification.ts'
export {
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  type Webhooks,
  webhooks,
} from './webhooks.ts'
