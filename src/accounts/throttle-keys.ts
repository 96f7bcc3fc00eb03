import type { ThrottleKey } from './throttle.ts'

/** What a try to sign in is counted by, and whom that spares. */
export type SignInThrottleKeys = {
  /** `device`: the id of a browser with which this name has signed in before. */
  readonly toThrottleKeys: (name: string, address: string, device?: string) => readonly ThrottleKey[]
  readonly isForName: (name: string) => (key: string) => boolean
}

const FIVE_MINUTES_MS = 300_000

/**
 * By name and address together, strictly; by address, for an address that tries one password on many names; and by name, loosely and
 * with short waits, for who comes from many addresses. A browser with which the name has signed in before has a count of its
 * own: wrong passwords from elsewhere, even from the same address, never keep its owner out.
 */
export function createSignInThrottleKeys(): SignInThrottleKeys {
  return {
    toThrottleKeys: (name, address, device) =>
      device === undefined
        ? [
            { key: `pair ${name} ${address}`, free: 5, longestWaitMs: FIVE_MINUTES_MS },
            { key: `address ${address}`, free: 30, longestWaitMs: FIVE_MINUTES_MS },
            { key: `name ${name}`, free: 50, longestWaitMs: 30_000 },
          ]
        : [{ key: `device ${name} ${device}`, free: 5, longestWaitMs: FIVE_MINUTES_MS }],
    isForName: (name) => (key) =>
      key === `name ${name}` || key.startsWith(`pair ${name} `) || key.startsWith(`device ${name} `),
  }
}

/** Confirming the password of a signed-in account. */
export const toConfirmThrottleKeys = (name: string): readonly ThrottleKey[] => [
  { key: `confirm ${name}`, free: 5, longestWaitMs: FIVE_MINUTES_MS },
]
