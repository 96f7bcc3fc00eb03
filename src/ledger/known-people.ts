import type { SyncDatabase } from '../database/database.ts'

/**
 * The people that each API key has asked about today, in SQLite. An index on keyed hashes would write a random page for almost
 * every person, so the table has none: rows are only appended, and the index is in memory. It holds the beginning of a hash
 * and the row, which is read to be certain. All calls are inside a transaction, which reads first what other processes added.
 */
export type KnownPeople = {
  /** Reads the rows of the day that were added since the last call. */
  readonly refresh: (day: number) => void
  /** `subject` is a keyed hash in hex. */
  readonly has: (keyId: string, subject: string) => boolean
  /** Adds people who are not known yet, and counts them. */
  readonly add: (keyId: string, subjects: ReadonlySet<string>) => void
}

const ROWS_AT_ONCE = 10_000
const RECENT = `SELECT rowid AS id, key_id, lower(hex(substr(subject, 1, 7))) AS prefix FROM key_subjects
  WHERE day = $1 AND rowid > $2 ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`
const PREFIX = `SELECT lower(hex(substr(subject, 1, 7))) AS prefix FROM key_subjects WHERE rowid = $1 AND day = $2`
const EXACT = 'SELECT 1 FROM key_subjects WHERE rowid = $1 AND key_id = $2 AND day = $3 AND subject = $4'
const ADD = 'INSERT INTO key_subjects (key_id, day, subject) VALUES ($1, $2, $3)'
const COUNT = `INSERT INTO key_days (key_id, day, subjects) VALUES ($1, $2, $3)
  ON CONFLICT (key_id, day) DO UPDATE SET subjects = subjects + excluded.subjects`

export function createKnownPeople({ prepare, onEnd }: SyncDatabase): KnownPeople {
  const recent = prepare(RECENT)
  const prefix = prepare(PREFIX)
  const exact = prepare(EXACT)
  const add = prepare(ADD)
  const count = prepare(COUNT)
  let keys = new Map<string, PrefixIndex>()
  let today = Number.NaN
  let last = 0
  let lastPrefix = ''
  let hasUncommitted = false

  const reset = (day: number) => {
    keys = new Map()
    today = day
    last = 0
  }
  onEnd((end) => {
    // The ids of these rows will be given to others.
    if (end === 'rollback' && hasUncommitted) reset(Number.NaN)
    if (end === 'commit') hasUncommitted = false
  })
  /** The last row is deleted if the clock was ahead for a time. Its id is then used again. */
  const holdsLast = () => last === 0 || prefix.get(last, today)?.prefix === lastPrefix
  const index = (keyId: string) => {
    const known = keys.get(keyId) ?? createPrefixIndex()
    keys.set(keyId, known)
    return known
  }
  return {
    refresh: (day) => {
      if (day !== today || !holdsLast()) reset(day)
      for (let rows = recent.all(day, last); rows.length > 0; rows = recent.all(day, last)) {
        // Perhaps added in this transaction, by this or another part of the program.
        hasUncommitted = true
        for (const row of rows) index(String(row.key_id)).add(toPrefix(String(row.prefix)), Number(row.id))
        last = Number(rows.at(-1)?.id)
        lastPrefix = String(rows.at(-1)?.prefix)
        if (rows.length < ROWS_AT_ONCE) return
      }
    },
    has: (keyId, subject) =>
      keys
        .get(keyId)
        ?.find(toPrefix(subject))
        .some((id) => exact.get(id, keyId, today, fromHex(subject)) !== undefined) ?? false,
    add: (keyId, subjects) => {
      for (const subject of subjects) add.run(keyId, today, fromHex(subject))
      count.run(keyId, today, subjects.size)
    },
  }
}

/** The first 52 bits: a whole number that JavaScript represents exactly. */
const toPrefix = (hex: string) => Number.parseInt(hex.slice(0, 13), 16)

const fromHex = (hex: string) => Buffer.from(hex, 'hex')

/** Row ids by a number of up to 52 bits, 16 bytes a place: a Map takes four times as much memory. */
type PrefixIndex = {
  /** Ids are greater than 0. */
  readonly add: (prefix: number, id: number) => void
  /** The ids under this prefix; more than one where prefixes are equal by chance. */
  readonly find: (prefix: number) => readonly number[]
}

const FIRST_PLACES = 64
const NONE: readonly number[] = []

/** Open addressing: an entry is at the place of its prefix or after it, before the next empty place. */
export function createPrefixIndex(): PrefixIndex {
  let prefixes = new Float64Array(FIRST_PLACES)
  let ids = new Float64Array(FIRST_PLACES)
  let size = 0

  const insert = (prefix: number, id: number) => {
    const mask = ids.length - 1
    let place = toPlace(prefix, mask)
    while (ids[place] !== 0) place = (place + 1) & mask
    prefixes[place] = prefix
    ids[place] = id
  }
  const grow = () => {
    const [oldPrefixes, oldIds] = [prefixes, ids]
    prefixes = new Float64Array(oldIds.length * 2)
    ids = new Float64Array(oldIds.length * 2)
    for (const [place, id] of oldIds.entries()) if (id !== 0) insert(oldPrefixes[place] as number, id)
  }
  return {
    add: (prefix, id) => {
      if (++size > ids.length * 0.7) grow()
      insert(prefix, id)
    },
    find: (prefix) => {
      const mask = ids.length - 1
      let found = NONE
      for (let place = toPlace(prefix, mask); ids[place] !== 0; place = (place + 1) & mask)
        if (prefixes[place] === prefix) found = [...found, ids[place] as number]
      return found
    },
  }
}

/** Prefixes are parts of hashes, so their lowest bits are spread evenly. */
const toPlace = (prefix: number, mask: number) => (prefix % 0x1_0000_0000) & mask
