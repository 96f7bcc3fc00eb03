import type { ThrottleKey } from './throttle.ts'

/** The counters of a sign-in attempt. */
type SignInThrottleKeys = {
  /** `device`: the id of a browser that has signed in with this name before. */
  readonly toThrottleKeys: (name: string, address: string, device?: string) => readonly ThrottleKey[]
  readonly isForName: (name: string) => (key: string) => boolean
}

const FIVE_MINUTES_MS = 300_000

/**
 * Three counters: name with address (strict), address alone (one password tried on many names), and name alone (guesses
 * from many addresses; loose, short waits). A browser that has signed in with this name before has its own counter, so
 * wrong passwords from elsewhere never lock its owner out.
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

/** For a signed-in account that enters its password again. */
export const toConfirmThrottleKeys = (name: string): readonly ThrottleKey[] => [
  { key: `confirm ${name}`, free: 5, longestWaitMs: FIVE_MINUTES_MS },
]
