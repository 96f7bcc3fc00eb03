import type { ResultRow } from '../../batches/result-row.ts'

/** How many rows ended in each way. */
export type Counts = Readonly<Record<keyof typeof NO_COUNTS, number>>

export const NO_COUNTS = { verified: 0, not_verified: 0, refused: 0, failed: 0, cancelled: 0 }

export const addRow = (counts: Counts, row: ResultRow): Counts => {
  const name = toName(row)
  return { ...counts, [name]: counts[name] + 1 }
}

function toName({ state, success, code }: ResultRow): keyof Counts {
  if (state === 'refused' || state === 'cancelled') return state
  if (success) return 'verified'
  return code === 'not_verified' ? code : 'failed'
}
