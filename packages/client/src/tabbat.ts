import type { Schemas } from './api.ts'
import { type Batches, createBatches } from './batches.ts'
import { readData } from './data.ts'
import { createPending, type PendingVerifications } from './pending.ts'
import type { BvnPerson, BvnRequest, NinPerson, NinRequest } from './person.ts'
import { type CallOptions, createTransport, type TabbatOptions } from './transport.ts'
import { type VerificationResult, type VerifyOptions, verify } from './verification.ts'
import { type Webhooks, webhooks } from './webhooks.ts'

export type InternetBundle = Schemas['ListInternetBundlesResponse']['data']['data'][number]
export type SmeBundle = Schemas['ListSmeBundlesResponse']['data'][number]
export type TvAddOnsRequest = Schemas['ListTvAddOnsRequest']
export type TvAddOn = Schemas['ListTvAddOnsResponse']['data'][number]

export type Tabbat = {
  /** Verifies a NIN against a phone number. */
  readonly verifyNin: (request: NinRequest, options?: VerifyOptions) => Promise<VerificationResult<NinPerson>>
  /** Verifies a BVN against a phone number. */
  readonly verifyBvn: (request: BvnRequest, options?: VerifyOptions) => Promise<VerificationResult<BvnPerson>>
  /** The data bundles of an internet provider: `smile`, `spectranet`. */
  readonly listInternetBundles: (provider: string, options?: CallOptions) => Promise<InternetBundle[]>
  readonly listSmeBundles: (options?: CallOptions) => Promise<SmeBundle[]>
  /** The add-ons of a product of cable TV. */
  readonly listTvAddOns: (request: TvAddOnsRequest, options?: CallOptions) => Promise<TvAddOn[]>
  readonly pending: PendingVerifications
  readonly batches: Batches
  readonly webhooks: Webhooks
}

/** A client of one server with one API key. It keeps no state between calls. */
export function createTabbat(options: TabbatOptions): Tabbat {
  const transport = createTransport(options)
  const { send } = transport
  const list = <Response extends { data: unknown }>(path: string, call: CallOptions = {}) =>
    readData<Response>(send, { ...call, method: 'GET', path })
  return {
    verifyNin: (request, call) => verify(send, '/api/v2/kyc/verify-nin', request, call),
    verifyBvn: (request, call) => verify(send, '/api/v2/kyc/verify-bvn', request, call),
    listInternetBundles: async (provider, call) => {
      const path = `/api/v2/internet/data/${encodeURIComponent(provider)}/lookup`
      return (await list<Schemas['ListInternetBundlesResponse']>(path, call)).data
    },
    listSmeBundles: (call) => list<Schemas['ListSmeBundlesResponse']>('/api/v2/sme-data/list', call),
    listTvAddOns: async ({ type, productCode }, call) => {
      const path = `/api/v2/cable-tv/fetch-tv-add-ons?${new URLSearchParams({ type, productCode })}`
      return list<Schemas['ListTvAddOnsResponse']>(path, call)
    },
    pending: createPending(send),
    batches: createBatches(transport),
    webhooks,
  }
}
