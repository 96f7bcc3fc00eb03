import type { Scope } from '../contract/scope.ts'
import { toAddress } from '../verification/queue/pending-response.ts'

/** Where the answer of a pending verification is. */
export const VERIFICATION_PATH = toAddress(':reference')

/** The scope of the verification itself is checked as well. */
export const VERIFICATION_SCOPES: readonly Scope[] = ['kyc:nin', 'kyc:bvn']

export const VERIFICATION_ID = {
  description: 'The `request_reference` of the 202.',
  example: 'ver_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k',
}
