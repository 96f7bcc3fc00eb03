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
  readonly longestWaitMs: number
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

export const toTooManyTries = (waitMs: number) =>
  new AdminError('too_many_tries', { headers: ['retry-after', String(Math.ceil(waitMs / 1000))] })

/** Counts failures in the database, under keyed hashes of names and addresses. */
export function createThrottle(table: ThrottleTable, secret: () => KeyObject, now = steadyNow): Throttle {
  const toHash = (text: string) => toTextMac(secret(), `sign-in ${text}`)
  const toCounter = ({ key, name, free, longestWaitMs, isKept = false }: ThrottleKey) => ({
    id: `${isKept ? KEPT : ''}${toHash(key)}`,
    account: name === undefined ? undefined : toHash(`account ${name}`),
    free,
    longestWaitMs,
  })
  return {
    begin: async (throttleKeys) => {
      const counters = throttleKeys.map(toCounter)
      const { waitMs, at } = await table.begin(counters, now())
      if (waitMs > 0) throw toTooManyTries(waitMs)
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

/**
 * The counters of a sign-in attempt. Name with address (strict), address alone (one password tried on many names; a right
 * sign-in takes only itself off), and name alone (guesses from many addresses; loose, short waits). A browser that has signed
 * in with this name before has its own counter, so wrong passwords from elsewhere never lock its owner out. `device` is the id
 * of such a browser.
 */
export const toSignInThrottleKeys = (
  name: string,
  address: string,
  device: string | undefined,
): readonly ThrottleKey[] =>
  device === undefined
    ? [
        { key: `pair ${name} ${address}`, name, free: 5, longestWaitMs: FIVE_MINUTES_MS },
        { key: `address ${toNetwork(address)}`, free: 30, longestWaitMs: FIVE_MINUTES_MS },
        { key: `name ${name}`, name, free: 50, longestWaitMs: 30_000 },
      ]
    : [{ key: `device ${name} ${device}`, name, free: 5, longestWaitMs: FIVE_MINUTES_MS }]

/** For the code after a right password. An attacker who has the password gets about a hundred guesses a day, for a million codes. */
export const toCodeThrottleKeys = (name: string): readonly ThrottleKey[] => [
  { key: `code ${name}`, name, free: 5, longestWaitMs: 3 * FIVE_MINUTES_MS, isKept: true },
]

/** For a signed-in account that enters its password again. */
export const toConfirmThrottleKeys = (name: string): readonly ThrottleKey[] => [
  { key: `confirm ${name}`, name, free: 5, longestWaitMs: FIVE_MINUTES_MS, isKept: true },
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
