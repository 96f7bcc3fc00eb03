import { type KeyObject, randomUUID } from 'node:crypto'
import { DAY_MS, secondsToLagosMidnight, steadyNow, toLagosDay } from '../contract/time.ts'
import { type Kind, toBlindIndex } from '../crypto/blind-index.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import type { GuessTable } from '../store/guess-table.ts'

/** Failed matches for one number in 24 hours, by one key and by all: enough for slips, too few for guessing. */
const MOST_BY_KEY = 5
const MOST_BY_ALL = 20
const WINDOW_MS = DAY_MS

/** Guards people against being guessed at, one by one or by the thousand. Numbers nobody has are guarded alike. */
export type GuessLimit = {
  /**
   * Throws when this number was guessed at too often, or the key has asked about too many people today. A guess counts as
   * failed from now on: of many at once, no more get through than one by one.
   */
  readonly admit: (caller: Caller, kind: Kind, number: string, phone: string) => Promise<Reservation>
  /** At the start: takes back the guesses that were under way when this node died. */
  readonly recover: () => Promise<void>
  /** Takes away what is too old to count. */
  readonly forget: () => Promise<void>
  /** At the end: waits for what is still being written. */
  readonly finish: () => Promise<void>
}

/** A guess under way. Unless it fails, it is taken back in the end. */
export type Reservation = { readonly settle: (failed: boolean) => Promise<void> }

type Open = { readonly id: string; readonly reserved: Promise<void>; holders: number; failed: boolean }

/** `node` marks the guesses of this node, so that those under way when it died can be taken back. */
export function createGuessLimit(
  table: GuessTable,
  key: KeyObject,
  node = 'here',
  now: () => number = steadyNow,
): GuessLimit {
  // The same guess at the same time is one guess: a double click must not look like two.
  const open = new Map<string, Open>()
  // What could not be written when a guess was settled, because the store was away: written before the next is admitted.
  const owed: (() => Promise<void>)[] = []
  let paying: Promise<void> | undefined
  const withdrawals = createWithdrawals()

  const pay = async () => {
    for (let debt = owed[0]; debt; debt = owed[0]) {
      await debt()
      owed.shift()
    }
  }
  const write = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      owed.push(work)
      throw error
    }
  }

  const reserve = async (caller: Caller, subject: Uint8Array, id: string) => {
    paying ??= pay().finally(() => {
      paying = undefined
    })
    await paying
    const at = now()
    const { lineage: keyId, subjectsPerDay: most } = caller
    const limits = { since: at - WINDOW_MS, mostByKey: MOST_BY_KEY, mostByAll: MOST_BY_ALL }
    const admitted = await table
      .admit({ id, subject, keyId, at, ...limits, day: toLagosDay(at), most })
      .catch((error) => {
        // Nobody knows whether it was counted: it is taken back when the store is there again.
        owed.push(() => table.withdraw(subject, id))
        throw error
      })
    if (admitted === 'admitted') return
    if (admitted === 'too_many_attempts') throw new AppError('too_many_attempts')
    throw new AppError('quota_exceeded', { headers: { 'retry-after': String(secondsToLagosMidnight(at)) } })
  }

  const admit: GuessLimit['admit'] = async (caller, kind, number, phone) => {
    const subject = toBlindIndex(key, kind, number)
    const person = `${kind}|${number}`
    const name = [caller.lineage, person, phone].join('|')
    const id = `${node}/${randomUUID()}`
    const take = () => reserve(caller, subject, id)
    const guess = open.get(name) ?? {
      id,
      // Counted after the withdrawals of the same number: a correct guess never counts against the next one.
      reserved: withdrawals.of(person)?.then(take) ?? take(),
      holders: 0,
      failed: false,
    }
    open.set(name, guess)
    guess.holders += 1
    const leave = () => {
      guess.holders -= 1
      if (guess.holders === 0 && open.get(name) === guess) open.delete(name)
      return guess.holders === 0
    }
    await guess.reserved.catch((error) => {
      leave()
      throw error
    })
    return {
      settle: async (failed) => {
        guess.failed ||= failed
        if (!leave()) return
        if (guess.failed) return write(() => table.confirm(subject, guess.id))
        const work = write(() => table.withdraw(subject, guess.id)).catch(() => {})
        withdrawals.add(person, work)
      },
    }
  }
  return {
    admit,
    recover: () => table.withdrawAll(`${node}/`),
    finish: withdrawals.finish,
    forget: () => table.forget(now() - WINDOW_MS, toLagosDay(now())),
  }
}

/** Withdrawals of correct guesses that are being written, by number. The caller does not wait for them. */
function createWithdrawals() {
  const writing = new Map<string, Promise<void>>()
  return {
    of: (person: string): Promise<void> | undefined => writing.get(person),
    add: (person: string, work: Promise<void>): void => {
      const all = Promise.all([writing.get(person), work]).then(() => {
        if (writing.get(person) === all) writing.delete(person)
      })
      writing.set(person, all)
    },
    finish: async (): Promise<void> => {
      await Promise.all(writing.values())
    },
  }
}
