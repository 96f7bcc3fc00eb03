import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { AdminError } from '../contract/error.ts'
import { steadyNow } from '../contract/time.ts'
import { toTextMac } from '../crypto/mac.ts'
import { KEPT, type ThrottleTable } from './throttle-table.ts'

/** A counter of wrong passwords or codes. */
export type ThrottleKey = {
  readonly key: string
  /** The name whose counters `reset` deletes. */
  readonly name?: string
  /** Failures without a wait. */
  readonly free: number
  readonly maxWaitMs: number
  /** Only who has the password, or a session, gets this far: the count lasts a day, whatever else is counted. */
  readonly isKept?: boolean
}

type Attempt = {
  /** The password was right. Resets the first counter, and takes this attempt off the others. */
  readonly succeed: () => Promise<void>
  /** The password was wrong. The wait starts now: comparing may have taken a while. */
  readonly fail: () => Promise<void>
  /** Nothing was compared: takes this attempt off all counters. */
  readonly withdraw: () => Promise<void>
}

export type Throttle = {
  /**
   * Counts an attempt before its result is known, so that parallel attempts count like sequential ones. Throws
   * `too_many_tries` during a wait.
   */
  readonly begin: (throttleKeys: readonly ThrottleKey[]) => Promise<Attempt>
  /** Resets the counters of a name. */
  readonly reset: (name: string) => Promise<void>
}

export const tooManyTriesError = (waitMs: number) =>
  new AdminError('too_many_tries', { headers: ['retry-after', String(Math.ceil(waitMs / 1000))] })

/** Counts failures in the database, under keyed hashes of names and addresses. */
export function createThrottle(table: ThrottleTable, secret: () => KeyObject, now = steadyNow): Throttle {
  const toHash = (text: string) => toTextMac(secret(), `sign-in ${text}`)
  const toCounter = ({ key, name, free, maxWaitMs, isKept = false }: ThrottleKey) => ({
    id: `${isKept ? KEPT : ''}${toHash(key)}`,
    account: name === undefined ? undefined : toHash(`account ${name}`),
    free,
    maxWaitMs,
  })
  return {
    begin: async (throttleKeys) => {
      const counters = throttleKeys.map(toCounter)
      const { waitMs, at } = await table.begin(counters, now())
      if (waitMs > 0) throw tooManyTriesError(waitMs)
      return {
        fail: () => table.fail(counters, now()),
        succeed: () => table.succeed(counters, at),
        withdraw: () => table.takeOff(counters, at),
      }
    },
    reset: (name) => table.reset(toHash(`account ${name}`)),
  }
}

const FIVE_MINUTES_MS = 300_000

/** The policy: what is counted, how many failures are free, and the longest wait. Each wait is twice the one before. */
export const GUESS_LIMITS = {
  /** A name from one address. */
  pair: { free: 5, maxWaitMs: FIVE_MINUTES_MS },
  /** One password tried on many names. A right sign-in takes only itself off. */
  address: { free: 30, maxWaitMs: FIVE_MINUTES_MS },
  /** A name guessed from many addresses: short waits, because its owner waits too. */
  name: { free: 50, maxWaitMs: 30_000 },
  /** A browser that has signed in with this name before: wrong passwords from elsewhere never lock its owner out. */
  device: { free: 5, maxWaitMs: FIVE_MINUTES_MS },
  /** The code after a right password. An attacker who has the password gets about a hundred guesses a day, for a million codes. */
  code: { free: 5, maxWaitMs: 3 * FIVE_MINUTES_MS, isKept: true },
  /** A signed-in account that enters its password again. */
  confirm: { free: 5, maxWaitMs: FIVE_MINUTES_MS, isKept: true },
} as const satisfies Readonly<Record<string, Omit<ThrottleKey, 'key' | 'name'>>>

/** Tokens of the admin API from an address in a minute that were not right before, in this process. */
export const UNKNOWN_TOKENS_PER_MINUTE = 30

/** The counters of a sign-in attempt. `device` is the id of a browser that has signed in with this name before. */
export const toSignInThrottleKeys = (
  name: string,
  address: string,
  device: string | undefined,
): readonly ThrottleKey[] =>
  device === undefined
    ? [
        { key: `pair ${name} ${address}`, name, ...GUESS_LIMITS.pair },
        { key: `address ${toNetwork(address)}`, ...GUESS_LIMITS.address },
        { key: `name ${name}`, name, ...GUESS_LIMITS.name },
      ]
    : [{ key: `device ${name} ${device}`, name, ...GUESS_LIMITS.device }]

export const toCodeThrottleKeys = (name: string): readonly ThrottleKey[] => [
  { key: `code ${name}`, name, ...GUESS_LIMITS.code },
]

export const toConfirmThrottleKeys = (name: string): readonly ThrottleKey[] => [
  { key: `confirm ${name}`, name, ...GUESS_LIMITS.confirm },
]

/** One host has a whole /64 of IPv6 addresses. */
function toNetwork(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (isIP(plain) !== 6) return plain
  const [head = '', tail = ''] = plain.split('::')
  const toGroups = (text: string) => text.split(':').filter((group) => group !== '')
  const [before, after] = [toGroups(head), toGroups(tail)]
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  const groups = [...before, ...zeros, ...after].slice(0, 4)
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')
}
