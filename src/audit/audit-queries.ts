import { toByteOrder } from '../database/byte-order.ts'
import type { Reader } from '../database/define-table.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'

/** ISO times. */
export type Period = { readonly from: string; readonly to: string }

/** A verification has some ten rows. Only stored responses that are returned again can make it many. */
export const MAX_REFERENCE_ROWS = 1000

/** Reads the log in bounded pages, by the existing indexes. */
type AuditQueries = {
  /** The rows of a chain before a sequence, the newest first. */
  readonly pageBack: (chain: string, before: number, most: number) => Promise<LoggedRow[]>
  /** Time of the row with this sequence, or of the first row after it. */
  readonly timeFrom: (
    chain: string,
    sequence: number,
  ) => Promise<Pick<LoggedRow, 'sequence' | 'time'> | undefined>
  /** The highest sequence in a range (`from` included, `before` excluded) whose row is not later than a time. */
  readonly lastUntil: (
    chain: string,
    range: { readonly from: number; readonly before: number },
    time: string,
  ) => Promise<number | undefined>
  /**
   * The rows of one verification, oldest first. At most `most`: rows of the phase `replay` are left out before others, and the
   * newest of them first.
   */
  readonly byReference: (reference: string, most?: number) => Promise<LoggedRow[]>
  /** From the start of a verification to its last row; undefined without a row. */
  readonly periodOf: (reference: string) => Promise<Period | undefined>
  /** Rows of a verification that have a subject have the same. */
  readonly subjectOf: (reference: string) => Promise<string | undefined>
  /**
   * The rows of several verifications, in no order. At most `most`: a caller may have had a stored response returned a million
   * times, so rows of that phase come last.
   */
  readonly byReferences: (
    references: readonly string[],
    most: number,
    /** When the rows were written, which archives need. */
    near?: Period,
  ) => Promise<LoggedRow[]>
  /** The rows of one verification in the order of chain and sequence, after a row. Chains are in the order of their bytes. */
  readonly pageOfReference: (
    reference: string,
    after: { readonly chain: string; readonly sequence: number },
    most: number,
  ) => Promise<LoggedRow[]>
}

/** An array in PostgreSQL: a list of unknown length must not change the plan. */
const IN_REFERENCES = {
  sqlite: 'IN (SELECT value FROM json_each($1))',
  postgres: '= ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))',
} as const

export function createAuditQueries(database: Reader, columns: string): AuditQueries {
  const byChain = toByteOrder(database, 'chain')
  const pageBack = database.prepare(
    `SELECT ${columns} FROM audit WHERE chain = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3`,
  )
  const timeFrom = database.prepare(
    'SELECT sequence, time FROM audit WHERE chain = $1 AND sequence >= $2 ORDER BY sequence LIMIT 1',
  )
  const lastUntil = database.prepare(
    `SELECT sequence FROM audit WHERE chain = $1 AND sequence >= $2 AND sequence < $3 AND time <= $4
     ORDER BY sequence DESC LIMIT 1`,
  )
  const byReferences = database.prepare(
    `SELECT ${columns} FROM audit WHERE request_reference ${IN_REFERENCES[database.dialect]}
     ORDER BY CASE phase WHEN 'replay' THEN 1 ELSE 0 END LIMIT $2`,
  )
  const byReference = database.prepare(
    `SELECT ${columns} FROM audit WHERE request_reference = $1
     ORDER BY CASE phase WHEN 'replay' THEN 1 ELSE 0 END, time, sequence LIMIT $2`,
  )
  const period = database.prepare(
    `SELECT MIN(time) AS first, MIN(started_at) AS start, MAX(time) AS last
     FROM audit WHERE request_reference = $1`,
  )
  const subject = database.prepare(
    'SELECT subject FROM audit WHERE request_reference = $1 AND subject IS NOT NULL LIMIT 1',
  )
  const pageOfReference = database.prepare(
    `SELECT ${columns} FROM audit WHERE request_reference = $1 AND (${byChain}, sequence) > ($2, $3)
     ORDER BY ${byChain}, sequence LIMIT $4`,
  )
  return {
    pageBack: async (chain, before, most) => (await pageBack.all(chain, before, most)) as LoggedRow[],
    timeFrom: async (chain, sequence) => {
      const row = await timeFrom.get(chain, sequence)
      return row && { sequence: Number(row.sequence), time: String(row.time) }
    },
    lastUntil: async (chain, { from, before }, time) => {
      const row = await lastUntil.get(chain, from, before, time)
      return row && Number(row.sequence)
    },
    byReference: async (reference, most = MAX_REFERENCE_ROWS) =>
      ((await byReference.all(reference, most)) as LoggedRow[]).sort(compareTime),
    periodOf: async (reference) => {
      const { first, start, last } = (await period.get(reference)) ?? {}
      return toPeriod([first, start, last])
    },
    subjectOf: async (reference) => (await subject.get(reference))?.subject as string | undefined,
    byReferences: async (references, most) =>
      references.length === 0
        ? []
        : ((await byReferences.all(JSON.stringify(references), most)) as LoggedRow[]),
    pageOfReference: async (reference, { chain, sequence }, most) =>
      (await pageOfReference.all(reference, chain, sequence, most)) as LoggedRow[],
  }
}

/** Values that are not texts are passed over. */
export function toPeriod(times: readonly unknown[]): Period | undefined {
  const known = times.filter((time) => typeof time === 'string').sort()
  const [from, to] = [known[0], known.at(-1)]
  return from === undefined || to === undefined ? undefined : { from, to }
}

export function compareTime(one: LoggedRow, other: LoggedRow): number {
  if (one.time !== other.time) return one.time < other.time ? -1 : 1
  return one.sequence - other.sequence
}
