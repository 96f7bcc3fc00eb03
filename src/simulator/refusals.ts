/**
 * Errors that are not about the person, with the texts of vendors and their frameworks. Each is sent in the vendor's own
 * envelope. None of them means "no such person".
 */
export const REFUSALS = {
  unknown_app: [404, 'App not found'],
  unknown_merchant: [404, 'Merchant not found'],
  unknown_endpoint: [404, 'Endpoint not found'],
  unknown_route: [404, 'Cannot POST /v2/verify'],
  wrong_format: [400, 'Phone number does not match the required format'],
  not_now: [422, 'The number could not be verified at this time'],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>

export type RefusalFault = keyof typeof REFUSALS

/** More error texts. The tests of all vendors combine every text with every status. */
export const REFUSED_TEXTS: readonly string[] = [
  ...Object.values(REFUSALS).map(([, message]) => message),
  'Not Found',
  'Resource not found',
  'User not found',
  'Customer not found',
  'Client not found',
  'Business not found',
  'Account not found',
  'API key not found',
  'Product not found for this account',
  'Record not found for this app',
  'Wallet record not found',
  'No record of this merchant',
  'no Route matched with those values',
  'NIN service not found',
  'NIN not found: NIMC did not answer',
  'Unable to verify NIN at the moment, please try again',
  'BVN could not be verified, try again later',
  'Service not available',
  'phone must match the pattern ^0[0-9]{10}$',
  'Phone number does not match expected format',
  'phone number does not match schema',
  'Validation failed',
  'Invalid request',
  '',
]
export const REFUSED_STATUSES: readonly number[] = [400, 404, 422]
