import { isIP } from 'node:net'
import type { ThrottleKey } from './throttle.ts'

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
