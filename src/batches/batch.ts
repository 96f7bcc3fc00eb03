import type { Mode } from '../contract/scope.ts'
import type { Database, Row } from '../database/database.ts'

/** `broken`: its body did not arrive whole, so nothing of it was accepted. `stopping`: cancelled, and some rows still run. */
type BatchState = 'receiving' | 'broken' | 'running' | 'stopping' | 'completed' | 'cancelled'

/** How rows end. `failed` is an answer that says neither verified nor not verified. */
export const ROW_ENDS = ['verified', 'not_verified', 'failed', 'expired', 'cancelled'] as const
export type RowEnd = (typeof ROW_ENDS)[number]

/** What a batch that runs takes of the places that all keys share. */
type RunningBatch = {
  readonly lineage: string
  /** That have not ended. */
  readonly rows: number
  /** Rows that ended lately, in a millisecond. */
  readonly perMs: number
  /** Its key waits for places. */
  readonly isLate: boolean
}

/** A batch without its rows. Times are in ms, by the clock that all nodes share. */
export type Batch = {
  readonly id: string
  readonly keyId: string
  readonly lineage: string
  readonly mode: Mode
  readonly state: BatchState
  readonly createdAt: number
  readonly acceptedAt: number | undefined
  readonly endedAt: number | undefined
  /** Until when the rows of its key are planned, and the time now. */
  readonly pacedUntil: number
  readonly now: number
  /** A moment some minutes ago, and how many rows had ended then; undefined before the first end. */
  readonly mark: { readonly at: number; readonly ended: number } | undefined
  /** Rows of earlier batches of its key that are moved to the queue before its own. */
  readonly rowsAhead: number
  /** The batches of all keys that run, itself included. */
  readonly running: readonly RunningBatch[]
  readonly rows: number
  readonly refused: number
  /** Rows that were moved to the queue. */
  readonly fed: number
  readonly ends: Readonly<Record<RowEnd, number>>
}

/** A row as it is received. Without a question it was refused. */
export type NewBatchRow = {
  readonly line: number
  readonly reference?: string
  readonly operation?: string
  readonly subject?: Uint8Array
  /** Sealed. */
  readonly question?: Uint8Array
  /** Sealed: the caller's own word for the row. */
  readonly label?: Uint8Array
  /** JSON. */
  readonly refusals?: string
}

/** A row with its result, as far as there is one. */
export type BatchResult = {
  readonly line: number
  readonly reference: string | undefined
  readonly label: Uint8Array | undefined
  readonly refusals: string | undefined
  readonly operation: string | undefined
  /** Of the row in the queue; undefined before it was moved there, and for a row that was not. */
  readonly state: string | undefined
  readonly outcome: string | undefined
  readonly isRunning: boolean
  readonly answer: Uint8Array | undefined
  /** It was not moved to the queue yet. */
  readonly isWaiting: boolean
}

export const BATCH_COLUMNS = `batches.id, key_id, batches.lineage, mode, state, created_at, accepted_at, ended_at, total, refused, fed,
  ${ROW_ENDS.join(', ')}, COALESCE(earlier_at, mark_at) AS mark_at, COALESCE(earlier_ended, mark_ended) AS mark_ended`

/** For the estimated end of a batch: `now` is SQL. */
export const toPlanColumns = ({ dialect }: Pick<Database, 'dialect'>, now: string) => `
  ${now} AS now, ${toOpenWork(dialect, now)} AS open_work,
  (SELECT paced_until FROM batch_paces WHERE batch_paces.lineage = batches.lineage) AS paced_until,
  (SELECT COALESCE(SUM(earlier.total - earlier.refused - earlier.fed), 0) FROM batches AS earlier
   WHERE batches.ended_at IS NULL AND earlier.lineage = batches.lineage AND earlier.ended_at IS NULL AND earlier.state = 'running'
     AND (earlier.accepted_at, earlier.id) < (batches.accepted_at, batches.id)) AS rows_ahead`

/** All batches that run, as JSON: rows that are left, how many ended lately in which time, and since when the first row is due. */
function toOpenWork(dialect: Database['dialect'], now: string): string {
  const toDue = (operation: string) =>
    `(SELECT ${now} - MIN(due_at) FROM queued_verifications AS queued WHERE queued.lane = 'batch'
       AND queued.lineage = running.lineage AND queued.mode = running.mode AND queued.operation = '${operation}'
       AND due_at IS NOT NULL)`
  const values = `running.lineage, total - refused - (${ROW_ENDS.join(' + ')}),
    ${ROW_ENDS.join(' + ')} - COALESCE(earlier_ended, mark_ended), ${now} - COALESCE(earlier_at, mark_at),
    ${toDue('verify_nin')}, ${toDue('verify_bvn')}`
  const list =
    dialect === 'postgres'
      ? `CAST(json_agg(json_build_array(${values})) AS TEXT)`
      : `json_group_array(json_array(${values}))`
  return `(SELECT ${list} FROM batches AS running WHERE running.ended_at IS NULL AND running.state = 'running')`
}

/** A row that is due this long waits for a place, not for its turn in the plan. */
const LATE_MS = 2000

const toRunning = (
  values: readonly [string, number, number | null, number | null, number | null, number | null],
): RunningBatch => {
  const [lineage, rows, ended, sinceMs, ninLateMs, bvnLateMs] = values
  return {
    lineage,
    rows,
    perMs: ended && sinceMs ? ended / sinceMs : 0,
    isLate: Math.max(ninLateMs ?? 0, bvnLateMs ?? 0) > LATE_MS,
  }
}

export const toBatch = (row: Row): Batch => ({
  id: String(row.id),
  keyId: String(row.key_id),
  lineage: String(row.lineage),
  mode: row.mode as Mode,
  state: row.state as BatchState,
  createdAt: Number(row.created_at),
  acceptedAt: toNumber(row.accepted_at),
  endedAt: toNumber(row.ended_at),
  pacedUntil: Number(row.paced_until ?? 0),
  now: Number(row.now),
  mark: row.mark_at === null ? undefined : { at: Number(row.mark_at), ended: Number(row.mark_ended) },
  rowsAhead: Number(row.rows_ahead ?? 0),
  running: JSON.parse(String(row.open_work ?? '[]')).map(toRunning),
  rows: Number(row.total),
  refused: Number(row.refused),
  fed: Number(row.fed),
  ends: Object.fromEntries(ROW_ENDS.map((end) => [end, Number(row[end])])) as Record<RowEnd, number>,
})

/** Rows that were accepted and have not ended. */
export const countOpenRows = ({ rows, refused, ends }: Batch): number =>
  rows - refused - ROW_ENDS.reduce((sum, end) => sum + ends[end], 0)

const toNumber = (value: unknown) => (value === null || value === undefined ? undefined : Number(value))
