import type { Mark } from './tries.ts'

/** What a try to sign in is counted by, and whom that spares. */
export type SignInMarks = {
  readonly toMarks: (name: string, address: string) => readonly Mark[]
  /** Somebody has signed in from here. */
  readonly remember: (name: string, address: string) => void
  readonly isOf: (name: string) => (key: string) => boolean
}

const FIVE_MINUTES_MS = 300_000
const MOST_KNOWN = 1000

/**
 * By name and address together, strictly; by address, for who tries one password on many names; and by name, loosely and
 * with short waits, for who comes from many addresses. The last would let strangers keep the owner of a name out, so it
 * does not count where that name has signed in from before.
 */
export function createSignInMarks(): SignInMarks {
  const known = new Set<string>()
  const toPair = (name: string, address: string) => `pair ${name} ${address}`
  return {
    toMarks: (name, address) => {
      const pair = toPair(name, address)
      const marks = [
        { key: pair, free: 5, longestWaitMs: FIVE_MINUTES_MS },
        { key: `address ${address}`, free: 30, longestWaitMs: FIVE_MINUTES_MS },
      ]
      return known.has(pair) ? marks : [...marks, { key: `name ${name}`, free: 50, longestWaitMs: 30_000 }]
    },
    remember: (name, address) => {
      known.add(toPair(name, address))
      const oldest = known.values().next().value
      if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest)
    },
    isOf: (name) => (key) => key === `name ${name}` || key.startsWith(`pair ${name} `),
  }
}

/** A password that is asked for again while somebody is signed in, whoever that is. */
export const toConfirmMarks = (name: string): readonly Mark[] => [
  { key: `confirm ${name}`, free: 5, longestWaitMs: FIVE_MINUTES_MS },
]
