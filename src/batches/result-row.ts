import type { Levels } from '../verification/match-details.ts'

/** The result of a row, as far as there is one. */
export type ResultRow = {
  readonly line: number
  /** The caller's own word for the row. */
  readonly reference: string | null
  readonly operation: string | null
  /** `gone`: the answer is no longer kept. */
  readonly state: 'refused' | 'waiting' | 'running' | 'done' | 'expired' | 'cancelled' | 'gone'
  /** The status, the body and the code of the synchronous response. Null while there is none. */
  readonly status: number | null
  readonly success: boolean
  readonly code: string | null
  readonly message: string | null
  /** How the names and the date of birth of the row compare, as in the header Tabbat-Match. Null if they were not compared. */
  readonly match: Levels | null
  /** Of a refused row. */
  readonly errors?: readonly { readonly field: string | null; readonly message: string }[]
  readonly data: Readonly<Record<string, unknown>> | null
}
