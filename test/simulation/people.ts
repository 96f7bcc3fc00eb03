/** Synthetic people. All about them follows from the number, by code that the product does not know. */

/** A number with this first digit is known to the vendors. */
const KNOWN = '4'
const UNKNOWN = '9'
/** In the operator's own records, and unknown to the vendors. */
const OWN = '5'
export const REGISTERED = 12

export const toKnownNumber = (id: number) => `${KNOWN}${String(id).padStart(10, '0')}`
export const toUnknownNumber = (id: number) => `${UNKNOWN}${String(id).padStart(10, '0')}`

export const toRegisteredNumber = (id: number) => `${OWN}${String(id).padStart(10, '0')}`

export const isRegistered = (number: string) => number.startsWith(OWN)
export const isKnownToVendors = (number: string) => number.startsWith(KNOWN)
export const isKnown = (number: string) => isKnownToVendors(number) || isRegistered(number)

/** The phone on record. */
export function phoneOf(number: string): string {
  const digits = (Number(number) * 7919 + 31_337) % 100_000_000
  return `080${String(digits).padStart(8, '0')}`
}

/** The n-th phone that is not on record. */
export const otherPhoneOf = (number: string, n: number) =>
  `0813${String(Number(number.slice(-4)) * 100 + n).padStart(7, '0')}`

/** A surname that nobody else has, so that it is found wherever it leaks. */
export const surnameOf = (number: string) =>
  `Qx${[...number].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`
