/** Two letters, twelve digits, two letters: a token for one NIN, valid once and for 72 hours. It must not be stored. */
export const VIRTUAL_NIN_PATTERN = '[A-Za-z]{2}[0-9]{12}[A-Za-z]{2}'

const LENGTH = 16

/** Of a number that was validated: all others have eleven digits. */
export const isVirtualNin = (number: string): boolean => number.length === LENGTH

/** A validated NIN as it is compared, hashed and sent. A virtual NIN is accepted in any case. */
export const toCanonicalNin = (nin: string): string => (isVirtualNin(nin) ? nin.toUpperCase() : nin)

const PERSON_NUMBER = {
  nin: new RegExp(`^(?:[0-9]{11}|${VIRTUAL_NIN_PATTERN})$`),
  bvn: /^[0-9]{11}$/,
} as const

/** The number by which a person is searched or erased; undefined if the text is none. */
export const readPersonNumber = (kind: 'nin' | 'bvn', text: string): string | undefined =>
  PERSON_NUMBER[kind].test(text) ? toCanonicalNin(text) : undefined
