import { randomUUID } from 'node:crypto'
import type { AuditTable } from '../audit/audit-table.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import type { AuditEntry } from '../audit/row.ts'
import { secondsToLagosMidnight, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { type Kind, toBlindIndex } from '../crypto/mac.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import { AppError } from '../errors.ts'
import type { Caller } from '../keys/caller.ts'
import type { CheckedGuess, SettledGuess } from '../ledger/commit.ts'
import { type GuessRefusal, toGuessLimits } from '../ledger/guess-rule.ts'
import type { GuessTable } from '../ledger/guess-table.ts'

/** Limits how often phones are guessed for one number, and how many numbers a key asks about. Unknown numbers count alike. */
export type GuessLimit = {
  /** A guess under way in this process. `subject` is the keyed hash of the number, in hex. Nothing is counted yet. */
  readonly open: (caller: Caller, subject: string, guessed: string) => OpenGuess
  /**
   * As it is counted in the commit before a source outside this process is asked: as failed from then on, so that of many guesses at
   * once no more pass than one by one.
   */
  readonly toReserved: (caller: Caller, guess: OpenGuess) => CheckedGuess
  /**
   * Ends a guess. Returns what must be written, in the commit of the outcome or by `settle`: it is withdrawn unless it failed. Where it was
   * left unanswered, `unanswered` is a keyed hash of it, under which `keepUnanswered` keeps it.
   */
  readonly leave: (guess: OpenGuess, isFailed: boolean, unanswered?: string) => SettledGuess | undefined
  /** In a commit of its own. What cannot be written now is written before the next guess is counted. */
  readonly settle: (settled: SettledGuess) => Promise<void>
  /** It is not known whether the guess was counted: it is withdrawn before the next one is. */
  readonly withdrawLater: (guess: OpenGuess) => void
  /** Writes what could not be written before. */
  readonly catchUp: () => Promise<void> | undefined
  /** Keeps the guesses that were left unanswered, in the background. */
  readonly keepUnanswered: () => void
  /** Throws when there were too many failed guesses for this number, or the key has asked about too many people today. */
  readonly check: (caller: Caller, subject: string) => Promise<void>
  /** At the start: withdraws the guesses that were under way when this node died. */
  readonly recover: () => Promise<void>
  /** Deletes what is too old to count. */
  readonly deleteExpired: () => Promise<number>
  /** At the end: writes what could not be written before, if that is possible now. */
  readonly finish: () => Promise<void>
}

/**
 * A failed guess counts each time. An unanswered one may be wrong, and counts once: callers that repeat a request during an outage are not
 * locked out. Any other is withdrawn.
 */
export type GuessEnd = 'failed' | 'unanswered' | 'withdrawn'

/** One guess, shared by the identical requests that run at the same time: a double click counts once. */
export type OpenGuess = {
  readonly name: string
  readonly subject: string
  holders: number
  /** Whether the store counts it as failed. */
  counted: boolean
  isFailed: boolean
  /** Its keyed hash, if it was left unanswered. */
  unanswered: string | undefined
  /** By which it is settled. Undefined until it is reserved. */
  id: string | undefined
}

/** Guesses that this worker counted before it crashed are withdrawn. */
export async function openGuessLimit(
  { dataDir }: Pick<DatabaseSettings, 'dataDir'>,
  { guesses }: { readonly guesses: GuessTable },
  workerNumber: number,
) {
  const workerName = workerNumber === 1 ? '' : `.${workerNumber}`
  const guessLimit = createGuessLimit(guesses, loadNodeName(dataDir) + workerName)
  // Commands have the number 0. Several may run, and none withdraws what another has under way.
  if (workerNumber > 0) await guessLimit.recover()
  return guessLimit
}

const NEW_GUESS = { holders: 0, counted: false, isFailed: false, unanswered: undefined, id: undefined }

/** `node` marks the guesses of this node, so that those under way when it died can be withdrawn. */
export function createGuessLimit(
  table: GuessTable,
  node = 'here',
  now: () => number = steadyNow,
): GuessLimit {
  const open = new Map<string, OpenGuess>()
  const retries = createRetries()
  // Written in the background: until then they count under their own id.
  const kept = createRetries()
  const process = randomUUID()
  let reserved = 0
  const write = ({ subject, id, isFailed }: SettledGuess) => {
    const bytes = Buffer.from(subject, 'hex')
    return isFailed ? table.confirm(bytes, id) : table.withdraw(bytes, id)
  }
  return {
    open: ({ lineage }, subject, guessed) => {
      const name = `${lineage}|${subject}|${guessed}`
      const known = open.get(name)
      const guess = known ?? { ...NEW_GUESS, name, subject }
      guess.holders += 1
      if (!known) open.set(name, guess)
      return guess
    },
    toReserved: ({ lineage: keyId, subjectsPerDay: maxPeople }, guess) => {
      reserved += 1
      guess.id ??= `${node}/${process}/${reserved}`
      const { subject, id } = guess
      return { subject, keyId, isWrong: true, maxPeople, attempt: guess, id }
    },
    leave: (guess, isFailed, unanswered) => {
      const { name, subject, id } = guess
      guess.isFailed ||= isFailed
      guess.unanswered ??= unanswered
      guess.holders -= 1
      const isLast = guess.holders === 0
      if (isLast && open.get(name) === guess) open.delete(name)
      // A failure is written with the first answer that says so; that the others write it again changes nothing.
      if (!isLast && !isFailed) return undefined
      if (!guess.counted || id === undefined) return undefined
      const keptAs = guess.unanswered
      if (guess.isFailed || keptAs === undefined) return { subject, id, isFailed: guess.isFailed }
      kept.add(() => table.keepOnce(Buffer.from(subject, 'hex'), id, keptAs))
      return undefined
    },
    settle: (settled) => retries.write(() => write(settled)),
    withdrawLater: ({ subject, id }) => {
      if (id !== undefined) retries.add(() => write({ subject, id, isFailed: false }))
    },
    catchUp: retries.run,
    keepUnanswered: () => void kept.run()?.catch(() => {}),
    check: async ({ lineage: keyId, subjectsPerDay: maxPeople }, subjectHex) => {
      const at = now()
      const subject = Buffer.from(subjectHex, 'hex')
      const admitted = await table.check({ ...toGuessLimits(at), subject, keyId, maxPeople })
      if (admitted !== 'admitted') throw limitError(admitted, at)
    },
    recover: () => table.withdrawAll(`${node}/`),
    finish: async () => {
      await retries.run()?.catch(() => {})
      await kept.run()?.catch(() => {})
    },
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
    run: (): Promise<void> | undefined => {
      if (failed.length === 0) return running
      running ??= retryAll().finally(() => {
        running = undefined
      })
      return running
    },
  }
}

type UnlockDeps = {
  readonly store: { readonly guesses: GuessTable; readonly audit: Pick<AuditTable, 'subjectOf'> }
  readonly keyring: Pick<Keyring, 'subject'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/** A number, or the `request_reference` of a verification of it. */
export type Locked =
  | { readonly kind: Kind; readonly number: string }
  | { readonly reference: string; readonly kind?: undefined }

/**
 * Forgets the failed matches of a number, of all keys, so that it can be verified again. Limits on people per day stay. The audit
 * row comes first; its reason was checked before. Resolves to the number of failed matches, or to undefined if no verification has
 * the reference.
 */
export async function unlockNumber(
  deps: UnlockDeps,
  locked: Locked,
  reason: string,
): Promise<number | undefined> {
  const subject = await findSubject(deps, locked)
  if (!subject) return undefined
  const detail = `${locked.kind ?? locked.reference}; reason: ${reason}`
  await deps.audit.record([
    { phase: 'number_unlocked', subject: subject.toString('hex'), outcome: 'ok', detail },
  ])
  return deps.store.guesses.unlock(subject)
}

/** To be read after "the reference". */
export const UNRECORDED_NOTE =
  'is not in the audit log. A request that was refused with 429 is not recorded: give the reference of an earlier verification of the number, such as one that was not verified'

async function findSubject({ keyring, store }: UnlockDeps, locked: Locked): Promise<Buffer | undefined> {
  if (locked.kind !== undefined) return toBlindIndex(keyring.subject, locked.kind, locked.number)
  const subject = await store.audit.subjectOf(locked.reference)
  return subject ? Buffer.from(subject, 'hex') : undefined
}
