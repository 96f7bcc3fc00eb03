export type { Schemas } from './api.ts'
export { type ErrorCode, TabbatError } from './error.ts'
export {
  type BvnPerson,
  type BvnRequest,
  createTabbat,
  type InternetBundle,
  type NinPerson,
  type NinRequest,
  type SmeBundle,
  type Tabbat,
  type TvAddOn,
  type TvAddOnsRequest,
} from './tabbat.ts'
export type { CallOptions, TabbatOptions } from './transport.ts'
export type { NotVerified, Pending, VerificationResult, Verified, VerifyOptions } from './verification.ts'
export {
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookOptions,
  type Webhooks,
  webhooks,
} from './webhooks.ts'
