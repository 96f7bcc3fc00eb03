import type { KeyObject } from 'node:crypto'
import { AdminError } from '../contract/admin-error.ts'
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
