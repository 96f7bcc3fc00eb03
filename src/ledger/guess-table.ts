import type { Database } from '../database/database.ts'
import { defineTable, type Reader, type TableOf } from '../database/define-table.ts'
import { deleteSome } from '../database/delete-some.ts'
import { type GuessFacts, type GuessLimits, type GuessRefusal, refuseGuess } from './guess-rule.ts'
import { createKnownPeople, type KnownPeople } from './known-people.ts'

export type Guess = GuessLimits & {
  /** By which it is withdrawn or confirmed. */
  readonly id: string
  readonly subject: Uint8Array
  readonly keyId: string
  /** Distinct people that the key may ask about on that day. */
  readonly maxPeople: number
}

type Admitted = 'admitted' | GuessRefusal

const COUNT = `SELECT COUNT(*) AS by_all, COALESCE(SUM(CASE WHEN key_id = $2 THEN 1 ELSE 0 END), 0) AS by_key
  FROM attempts WHERE subject = $1 AND at > $3`

/** Held in PostgreSQL while guesses about a person are counted: see functions/commit-verifications.sql. */
export const toPersonLock = (subject: Uint8Array) => `attempts:${Buffer.from(subject).toString('hex')}`

/**
 * Limits on guessing: failed matches of one number, and distinct people that a key asks about in a day. Subjects are keyed
 * hashes. A guess is counted as failed before the sources are asked, and withdrawn when it turns out to be correct.
 */
export const guessTable = defineTable({
  reads: (database) => ({
    /** How many people a key, or the keys it was rolled from, asked about on a day. */
    countPeople: (lineage: string, day: number) => countPeople(database, lineage, day),
  }),
  writes: (database) => {
    const knownPeople = database.sync && createKnownPeople(database.sync)
    return {
      /** What a commit with this guess would be answered, as far as is known now. Only the writer knows the people of the day. */
      check: (guess: Omit<Guess, 'id'>) => database.transaction((tx) => check(tx, knownPeople, guess)),
      /** Removes a guess that was correct. */
      withdraw: async (subject: Uint8Array, id: string) => {
        await database.prepare('DELETE FROM attempts WHERE subject = $1 AND id = $2').run(subject, id)
      },
      /** Keeps a guess that failed. It can no longer be withdrawn. */
      confirm: async (subject: Uint8Array, id: string) => {
        await database
          .prepare('UPDATE attempts SET id = NULL WHERE subject = $1 AND id = $2')
          .run(subject, id)
      },
      /** Keeps a guess that may have failed under this name, unless it is kept under it already. */
      keepOnce: (subject: Uint8Array, id: string, name: string) =>
        database.transaction((tx) => keepOnce(tx, subject, id, name)),
      /** Removes the guesses that were neither confirmed nor withdrawn, because the process that counted them died. */
      withdrawAll: async (idPrefix: string) => {
        await database.prepare('DELETE FROM attempts WHERE id LIKE $1').run(`${idPrefix}%`)
      },
      /** Deletes the failed guesses about a person, of all keys; those under way stay. Resolves to their number. */
      unlock: (subject: Uint8Array) =>
        database
          .prepare(`DELETE FROM attempts WHERE subject = $1 AND (id IS NULL OR id LIKE '${KEPT}%')`)
          .run(subject),
      /** Deletes some of what is outside the limits' time windows; see delete-some.ts. */
      deleteExpired: async (failuresBefore: number, daysBefore: number) => {
        const attempts = await deleteSome(database, 'attempts', 'at < $1', failuresBefore)
        const people = await deleteSome(database, 'key_subjects', 'day < $1', daysBefore)
        const days = await deleteSome(database, 'key_days', 'day < $1', daysBefore)
        return Math.max(attempts, people, days)
      },
    }
  },
})
export type GuessTable = TableOf<typeof guessTable>

/** Begins the id of a guess that is kept once. No node has such a name. */
const KEPT = 'kept:'

async function keepOnce(tx: Database, subject: Uint8Array, id: string, name: string): Promise<void> {
  await tx.lock(toPersonLock(subject))
  const isKept = await tx
    .prepare('SELECT 1 FROM attempts WHERE subject = $1 AND id = $2')
    .get(subject, KEPT + name)
  await (isKept
    ? tx.prepare('DELETE FROM attempts WHERE subject = $1 AND id = $2').run(subject, id)
    : tx.prepare('UPDATE attempts SET id = $3 WHERE subject = $1 AND id = $2').run(subject, id, KEPT + name))
}

async function check(
  tx: Database,
  knownPeople: KnownPeople | undefined,
  guess: Omit<Guess, 'id'>,
): Promise<Admitted> {
  return refuseGuess(guess, await findFacts(tx, knownPeople, guess), guess.maxPeople) ?? 'admitted'
}

async function findFacts(
  tx: Database,
  knownPeople: KnownPeople | undefined,
  { subject, keyId, since, day }: Omit<Guess, 'id'>,
): Promise<GuessFacts> {
  const failed = await tx.prepare(COUNT).get(subject, keyId, since)
  return {
    byKey: Number(failed?.by_key),
    byAll: Number(failed?.by_all),
    isKnown: await isKnown(tx, knownPeople, { keyId, day, subject }),
    people: await countPeople(tx, keyId, day),
  }
}

async function countPeople(database: Reader, keyId: string, day: number): Promise<number> {
  const counted = await database
    .prepare('SELECT subjects FROM key_days WHERE key_id = $1 AND day = $2')
    .get(keyId, day)
  return Number(counted?.subjects ?? 0)
}

async function isKnown(
  tx: Database,
  knownPeople: KnownPeople | undefined,
  { keyId, day, subject }: Pick<Guess, 'keyId' | 'day' | 'subject'>,
): Promise<boolean> {
  if (knownPeople) {
    knownPeople.refresh(day)
    return knownPeople.has(keyId, toHex(subject))
  }
  const known = tx.prepare('SELECT 1 FROM key_subjects WHERE key_id = $1 AND day = $2 AND subject = $3')
  return (await known.get(keyId, day, subject)) !== undefined
}

const toHex = (subject: Uint8Array) => Buffer.from(subject).toString('hex')
