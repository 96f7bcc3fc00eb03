import type { Database } from './database.ts'

/** Who was asked about too often. Subjects are keyed hashes. */
export type GuessTable = {
  /** Failed matches since a time, for one number: by one key and by all. */
  readonly countFailures: (subject: Uint8Array, keyId: string, since: number) => Promise<Failures>
  /** Counts one more failure, unless a limit is reached: then false. Exact, however many ask at once. */
  readonly recordFailure: (failure: Failure) => Promise<boolean>
  /** Takes back a failure that was counted in advance and did not come to pass. */
  readonly withdraw: (subject: Uint8Array, id: string) => Promise<void>
  /** The failure came to pass: it can no longer be withdrawn. */
  readonly confirm: (subject: Uint8Array, id: string) => Promise<void>
  /** Takes back all that were neither confirmed nor withdrawn, because the process that counted them died. */
  readonly withdrawAll: (idPrefix: string) => Promise<void>
  /** Whether the key has asked about this person today, or may ask about one more. Exact, too. */
  readonly admitSubject: (admission: Admission) => Promise<boolean>
  /** Both at once, for the same key and person: counted together or not at all. */
  readonly admit: (guess: Failure & Omit<Admission, 'keyId' | 'subject'>) => Promise<Admitted>
  /** Forgets what is too old to matter. */
  readonly forget: (failuresBefore: number, daysBefore: number) => Promise<void>
}

export type Failures = { readonly byKey: number; readonly byAll: number }

export type Failure = {
  /** By which it can be withdrawn. */
  readonly id?: string
  readonly subject: Uint8Array
  readonly keyId: string
  readonly at: number
  readonly since: number
  readonly mostByKey: number
  readonly mostByAll: number
}

export type Admitted = 'admitted' | 'too_many_attempts' | 'quota_exceeded'

export type Admission = {
  readonly keyId: string
  readonly day: number
  readonly subject: Uint8Array
  readonly most: number
}

const COUNT = `SELECT COUNT(*) AS by_all, COALESCE(SUM(CASE WHEN key_id = $2 THEN 1 ELSE 0 END), 0) AS by_key
  FROM attempts WHERE subject = $1 AND at > $3`

const KNOWN = 'SELECT 1 AS known FROM key_subjects WHERE key_id = $1 AND day = $2 AND subject = $3'

const toName = (subject: Uint8Array) => `attempts:${Buffer.from(subject).toString('base64')}`

export function createGuessTable(database: Database): GuessTable {
  const known = database.prepare(KNOWN)
  const admitGuess = database.dialect === 'postgres' ? database.prepare(ADMIT_GUESS) : undefined
  return {
    admit: async (guess) => {
      if (!admitGuess) return database.transaction((inside) => admitInside(inside, guess))
      const { id = null, subject, keyId, at, since, mostByKey, mostByAll, day, most } = guess
      const row = await admitGuess.get(subject, keyId, id, at, since, mostByKey, mostByAll, day, most)
      return row?.admitted as Admitted
    },
    countFailures: (subject, keyId, since) => countFailures(database, subject, keyId, since),
    recordFailure: (failure) => database.transaction((inside) => recordFailure(inside, failure)),
    withdraw: async (subject, id) => {
      await database.prepare('DELETE FROM attempts WHERE subject = $1 AND id = $2').run(subject, id)
    },
    confirm: async (subject, id) => {
      await database.prepare('UPDATE attempts SET id = NULL WHERE subject = $1 AND id = $2').run(subject, id)
    },
    withdrawAll: async (idPrefix) => {
      await database.prepare('DELETE FROM attempts WHERE id LIKE $1').run(`${idPrefix}%`)
    },
    admitSubject: async (admission) => {
      const { keyId, day, subject } = admission
      if ((await known.get(keyId, day, subject)) !== undefined) return true
      return database.transaction((inside) => admitNew(inside, admission))
    },
    forget: async (failuresBefore, daysBefore) => {
      await database.prepare('DELETE FROM attempts WHERE at < $1').run(failuresBefore)
      await database.prepare('DELETE FROM key_subjects WHERE day < $1').run(daysBefore)
      await database.prepare('DELETE FROM key_days WHERE day < $1').run(daysBefore)
    },
  }
}

const ADMIT_GUESS = 'SELECT admit_guess($1, $2, $3, $4, $5, $6, $7, $8, $9) AS admitted'

async function admitInside(
  inside: Database,
  guess: Failure & Omit<Admission, 'keyId' | 'subject'>,
): Promise<Admitted> {
  const { id = '', subject, keyId, day, most } = guess
  if (!(await recordFailure(inside, guess))) return 'too_many_attempts'
  const isKnown = (await inside.prepare(KNOWN).get(keyId, day, subject)) !== undefined
  if (isKnown || (await admitNew(inside, { keyId, day, subject, most }))) return 'admitted'
  await inside.prepare('DELETE FROM attempts WHERE subject = $1 AND id = $2').run(subject, id)
  return 'quota_exceeded'
}

async function recordFailure(
  inside: Database,
  { id, subject, keyId, at, since, mostByKey, mostByAll }: Failure,
): Promise<boolean> {
  await inside.lock(toName(subject))
  const { byKey, byAll } = await countFailures(inside, subject, keyId, since)
  if (byKey >= mostByKey || byAll >= mostByAll) return false
  await inside
    .prepare('INSERT INTO attempts (subject, key_id, at, id) VALUES ($1, $2, $3, $4)')
    .run(subject, keyId, at, id ?? null)
  return true
}

async function countFailures(
  database: Database,
  subject: Uint8Array,
  keyId: string,
  since: number,
): Promise<Failures> {
  const row = await database.prepare(COUNT).get(subject, keyId, since)
  return { byKey: Number(row?.by_key ?? 0), byAll: Number(row?.by_all ?? 0) }
}

async function admitNew(inside: Database, { keyId, day, subject, most }: Admission): Promise<boolean> {
  await inside.lock(`subjects:${keyId}`)
  if ((await inside.prepare(KNOWN).get(keyId, day, subject)) !== undefined) return true
  const row = await inside
    .prepare('SELECT subjects FROM key_days WHERE key_id = $1 AND day = $2')
    .get(keyId, day)
  if (Number(row?.subjects ?? 0) >= most) return false
  await inside
    .prepare('INSERT INTO key_subjects (key_id, day, subject) VALUES ($1, $2, $3)')
    .run(keyId, day, subject)
  await inside
    .prepare(
      `INSERT INTO key_days (key_id, day, subjects) VALUES ($1, $2, 1)
       ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + 1`,
    )
    .run(keyId, day)
  return true
}
