import { invalidArgument } from './error.ts'
import type { BvnPerson, NinPerson } from './person.ts'
import type { CallOptions, Send } from './transport.ts'
import { isNotVerified, toResult, type VerificationResult } from './verification.ts'

export type PendingVerifications = {
  /** The answer of a pending verification, or that it is still pending. `person.service_type` is NIN or BVN. */
  readonly get: (
    reference: string,
    options?: CallOptions,
  ) => Promise<VerificationResult<NinPerson | BvnPerson>>
  /** Cancels it. While a source is being asked, and after the end, this is an error: `already_begun`. */
  readonly cancel: (reference: string, options?: CallOptions) => Promise<void>
}

export const createPending = (send: Send): PendingVerifications => ({
  get: async (reference, call = {}) =>
    toResult(await send({ ...call, method: 'GET', path: toPath(reference), isResult: isNotVerified })),
  cancel: async (reference, call = {}) => {
    await send({ ...call, method: 'DELETE', path: toPath(reference) })
  },
})

function toPath(reference: unknown): string {
  if (typeof reference === 'string' && /^ver_\w+$/.test(reference))
    return `/api/v2/kyc/verifications/${reference}`
  throw invalidArgument('reference must be the reference of a verification: ver_…')
}
