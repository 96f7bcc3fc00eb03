import type { KeyObject } from 'node:crypto'
import { type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/authenticate.ts'
import type { AttemptTable } from '../store/attempt-table.ts'

/** Failed matches for one number in 24 hours, by one key and by all: enough for slips, too few for guessing. */
const MOST_BY_KEY = 5
const MOST_BY_ALL = 20
const WINDOW_MS = 24 * 3_600_000
const DAY_MS = 24 * 3_600_000
/** A day of a key ends at midnight in Lagos. */
const LAGOS_MS = 3_600_000

/** How many people a key may ask about in a day, unless it was made with another number. */
export const SUBJECTS_PER_DAY = 2000

/** Guards people against being guessed at, one by one or by the thousand. Numbers nobody has are guarded alike. */
export type Attempts = {
  /** Throws when this number was guessed at too often, or the key has asked about too many people today. */
  readonly admit: (caller: Caller, kind: Kind, number: string) => Promise<void>
  /** Counts a failed match. Throws when others were faster and no failure is left to be answered. */
  readonly fail: (caller: Caller, kind: Kind, number: string) => Promise<void>
  /** A match counts only while the limit is not reached: guesses at the same time are as good as one by one. */
  readonly succeed: (caller: Caller, kind: Kind, number: string) => Promise<void>
  /** Takes away what is too old to count. */
  readonly forget: () => Promise<void>
}

export function createAttempts(table: AttemptTable, key: KeyObject, now: () => number = Date.now): Attempts {
  const toSubject = (kind: Kind, number: string) => toBlindIndex(key, kind, number)

  const refuseGuesses = async (caller: Caller, subject: Uint8Array) => {
    const { byKey, byAll } = await table.countFailures(subject, caller.keyId, now() - WINDOW_MS)
    if (byKey >= MOST_BY_KEY || byAll >= MOST_BY_ALL) throw new AppError('too_many_attempts')
  }

  return {
    admit: async (caller, kind, number) => {
      const subject = toSubject(kind, number)
      await refuseGuesses(caller, subject)
      const day = toDay(now())
      const admitted = await table.admitSubject({
        keyId: caller.keyId,
        day,
        subject,
        most: caller.subjectsPerDay,
      })
      if (!admitted)
        throw new AppError('quota_exceeded', { headers: { 'retry-after': String(secondsToMidnight(now())) } })
    },
    fail: async (caller, kind, number) => {
      const at = now()
      const counted = await table.recordFailure({
        subject: toSubject(kind, number),
        keyId: caller.keyId,
        at,
        since: at - WINDOW_MS,
        mostByKey: MOST_BY_KEY,
        mostByAll: MOST_BY_ALL,
      })
      if (!counted) throw new AppError('too_many_attempts')
    },
    succeed: (caller, kind, number) => refuseGuesses(caller, toSubject(kind, number)),
    forget: () => table.forget(now() - WINDOW_MS, toDay(now())),
  }
}

const toDay = (at: number) => Math.floor((at + LAGOS_MS) / DAY_MS)

const secondsToMidnight = (at: number) => Math.ceil((DAY_MS - ((at + LAGOS_MS) % DAY_MS)) / 1000)
