import { randomUUID } from 'node:crypto'
import { loadNodeName } from '../audit/chain-claim.ts'
import type { AuditEntry } from '../audit/row.ts'
import { secondsToLagosMidnight, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import { type GuessRefusal, toGuessLimits } from '../ledger/guess-rule.ts'
import type { GuessTable } from '../ledger/guess-table.ts'

/** Limits how often phones are guessed for one number, and how many numbers a key asks about. Unknown numbers count alike. */
export type GuessLimit = {
  /**
   * Throws when there were too many failed guesses for this number, or the key has asked about too many people today. The
   * guess counts as failed from now on, so that of many guesses at once no more pass than one by one. `subject` is the keyed
   * hash of the number, in hex.
   */
  readonly reserve: (caller: Caller, subject: string, guessed: string) => Promise<Reservation>
  /** Throws as `reserve` does, and counts nothing. */
  readonly check: (caller: Caller, subject: string) => Promise<void>
  /** At the start: withdraws the guesses that were under way when this node died. */
  readonly recover: () => Promise<void>
  /** Deletes what is too old to count. */
  readonly deleteExpired: () => Promise<number>
  /** At the end: waits for pending writes. */
  readonly finish: () => Promise<void>
}

/** A guess under way. It is withdrawn unless it failed. */
export type Reservation = { readonly settle: (failed: boolean) => Promise<void> }

type OpenGuess = {
  readonly id: string
  readonly reserved: Promise<void>
  holders: number
  failed: boolean
}

/** Guesses that this worker counted before it crashed are withdrawn. */
export async function openGuessLimit(
  { dataDir }: Pick<DatabaseSettings, 'dataDir'>,
  { guesses }: { readonly guesses: GuessTable },
  workerNumber: number,
) {
  const workerName = workerNumber === 1 ? '' : `.${workerNumber}`
  const guessLimit = createGuessLimit(guesses, loadNodeName(dataDir) + workerName)
  await guessLimit.recover()
  return guessLimit
}

/** `node` marks the guesses of this node, so that those under way when it died can be withdrawn. */
export function createGuessLimit(
  table: GuessTable,
  node = 'here',
  now: () => number = steadyNow,
): GuessLimit {
  // The same guess at the same time is one guess: a double click must not count twice.
  const open = new Map<string, OpenGuess>()
  const retries = createRetries()
  const withdrawals = createWithdrawals()

  const count = async (caller: Caller, subject: Uint8Array, id: string) => {
    await retries.run()
    const at = now()
    const { lineage: keyId, subjectsPerDay: maxPeople } = caller
    const admitted = await table
      .admit({ ...toGuessLimits(at), id, subject, keyId, maxPeople })
      .catch((error) => {
        // The guess may have been counted all the same.
        retries.add(() => table.withdraw(subject, id))
        throw error
      })
    if (admitted !== 'admitted') throw limitError(admitted, at)
  }

  const reserve: GuessLimit['reserve'] = async (caller, subjectHex, guessed) => {
    const subject = Buffer.from(subjectHex, 'hex')
    const name = `${caller.lineage}|${subjectHex}|${guessed}`
    const id = `${node}/${randomUUID()}`
    const guess = open.get(name) ?? {
      id,
      // Counted after the withdrawals for the same number: a correct guess never counts against the next one.
      reserved:
        withdrawals.of(subjectHex)?.then(() => count(caller, subject, id)) ?? count(caller, subject, id),
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
        if (guess.failed) return retries.write(() => table.confirm(subject, guess.id))
        // A correct guess does not wait for its withdrawal.
        const withdrawn = retries.write(() => table.withdraw(subject, guess.id)).catch(() => {})
        withdrawals.add(subjectHex, withdrawn)
      },
    }
  }
  return {
    reserve,
    check: async ({ lineage: keyId, subjectsPerDay: maxPeople }, subjectHex) => {
      const at = now()
      const subject = Buffer.from(subjectHex, 'hex')
      const admitted = await table.check({ ...toGuessLimits(at), subject, keyId, maxPeople })
      if (admitted !== 'admitted') throw limitError(admitted, at)
    },
    recover: () => table.withdrawAll(`${node}/`),
    finish: withdrawals.finish,
    deleteExpired: () => {
      const { since, day } = toGuessLimits(now())
      return table.deleteExpired(since, day)
    },
  }
}

export function limitError(reason: GuessRefusal, at = steadyNow()): AppError {
  if (reason === 'too_many_attempts') return new AppError(reason)
  return new AppError(reason, { headers: { 'retry-after': String(secondsToLagosMidnight(at)) } })
}

/** Writes that failed because the store was unavailable. They are written before the next guess is counted. */
function createRetries() {
  const failed: (() => Promise<void>)[] = []
  let running: Promise<void> | undefined
  const retryAll = async () => {
    for (let work = failed[0]; work; work = failed[0]) {
      await work()
      failed.shift()
    }
  }
  return {
    add: (work: () => Promise<void>): void => void failed.push(work),
    write: async (work: () => Promise<void>): Promise<void> => {
      try {
        await work()
      } catch (error) {
        failed.push(work)
        throw error
      }
    },
    run: (): Promise<void> => {
      running ??= retryAll().finally(() => {
        running = undefined
      })
      return running
    },
  }
}

/** Withdrawals that are being written, by subject. */
function createWithdrawals() {
  const writing = new Map<string, Promise<void>>()
  return {
    of: (subject: string): Promise<void> | undefined => writing.get(subject),
    add: (subject: string, work: Promise<void>): void => {
      const all = Promise.all([writing.get(subject), work]).then(() => {
        if (writing.get(subject) === all) writing.delete(subject)
      })
      writing.set(subject, all)
    },
    finish: async (): Promise<void> => {
      await Promise.all(writing.values())
    },
  }
}

type UnlockDeps = {
  readonly store: { readonly guesses: GuessTable }
  readonly keyring: Pick<Keyring, 'subject'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

type Unlocking = {
  readonly kind: Kind
  readonly number: string
  /** Checked before. */
  readonly reason: string
}

/**
 * Forgets the failed matches of a number, of all keys, so that it can be verified again. Limits on people per day stay. The audit
 * row comes first. Resolves to the number of failed matches.
 */
export async function unlockNumber(deps: UnlockDeps, { kind, number, reason }: Unlocking): Promise<number> {
  const subject = toBlindIndex(deps.keyring.subject, kind, number)
  const detail = `${kind}; reason: ${reason}`
  await deps.audit.record([
    { phase: 'number_unlocked', subject: subject.toString('hex'), outcome: 'ok', detail },
  ])
  return deps.store.guesses.unlock(subject)
}
