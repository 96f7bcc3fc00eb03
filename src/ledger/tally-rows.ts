import type { Value } from '../database/database.ts'
import type { Span } from './span.ts'

/** How many verifications of one span had the same operation, mode, outcome, key and source. */
export type Tally = {
  readonly span: Span
  readonly at: string
  readonly chain: string
  readonly operation: string
  readonly mode: string
  readonly outcome: string
  readonly key_id: string
  readonly source: string
  count: number
  last_at: string
  last_reference: string
}

const TALLY_COLUMNS = [
  'span',
  'at',
  'chain',
  'operation',
  'mode',
  'outcome',
  'key_id',
  'source',
  'count',
  'last_at',
  'last_reference',
] as const satisfies readonly (keyof Tally)[]

export const toTallyValues = (tally: Tally): Value[] => TALLY_COLUMNS.map((column) => tally[column])

/** As one JSON text, which PostgreSQL unpacks itself. */
export const packTallies = (tallies: readonly Tally[]): string => JSON.stringify(tallies.map(toTallyValues))

const INTO = `INSERT INTO statistics (${TALLY_COLUMNS.join(', ')})`
const ADD = `ON CONFLICT (span, at, chain, operation, mode, outcome, key_id, source) DO UPDATE SET
  count = statistics.count + excluded.count, last_at = excluded.last_at, last_reference = excluded.last_reference`

export const ADD_TALLY = `${INTO} VALUES (${TALLY_COLUMNS.map((_column, index) => `$${index + 1}`).join(', ')}) ${ADD}`

/** The same for a whole batch, which PostgreSQL unpacks itself. */
export const toAddPackedTallies = (parameter: string) =>
  `${INTO} SELECT ${TALLY_COLUMNS.map((column, index) => (column === 'count' ? `(tally->>${index})::bigint` : `tally->>${index}`)).join(', ')}
   FROM jsonb_array_elements(${parameter}::jsonb) AS tallies(tally) ${ADD}`
