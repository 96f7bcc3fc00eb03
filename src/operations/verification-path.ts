import type { Scope } from '../contract/scope.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Caller } from '../keys/caller.ts'
import { toAddress } from '../verification/queue/pending-response.ts'
import { isReference } from '../verification/reference.ts'

/** Where the answer of a pending verification is. */
export const VERIFICATION_PATH = toAddress(':reference')

/** The scope of the verification itself is checked as well. */
export const VERIFICATION_SCOPES: readonly Scope[] = ['kyc:nin', 'kyc:bvn']

export const VERIFICATION_ID = {
  description: 'The `request_reference` of the 202.',
  example: 'ver_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y3e7k',
}

/** The verification that the path names. */
export function toAsked(exchange: Exchange, caller: Caller) {
  const { reference = '' } = exchange.params
  // Anything else might be a number or a name.
  if (isReference(reference)) exchange.reference = reference
  return { reference, caller, requestId: exchange.id }
}
