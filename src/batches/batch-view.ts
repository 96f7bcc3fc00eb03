import type { BatchView } from '../contract/batch.ts'
import { MINUTE_MS, toIsoTime } from '../contract/time.ts'
import { type Batch, countOpenRows } from '../store/batch.ts'

type ViewOptions = { readonly rowsPerMinute: number; readonly keepMs: number }

/** A batch as its caller sees it. */
export function toBatchView(batch: Batch, { rowsPerMinute, keepMs }: ViewOptions): BatchView {
  const { id, state, mode, rows, refused, ends, endedAt } = batch
  return {
    id,
    state: state as BatchView['state'],
    mode,
    rows,
    counts: { waiting: countOpenRows(batch), ...ends, refused },
    accepted_at: toIsoTime(batch.acceptedAt ?? batch.createdAt),
    ended_at: endedAt === undefined ? null : toIsoTime(endedAt),
    estimated_end: endedAt === undefined ? toIsoTime(estimateEnd(batch, rowsPerMinute)) : null,
    kept_until: endedAt === undefined ? null : toIsoTime(endedAt + keepMs),
  }
}

/** By the allowed rate after earlier batches of the key, and by the rate of the last minutes, if that is lower: sources may be slow. */
function estimateEnd(batch: Batch, rowsPerMinute: number): number {
  const { now, pacedUntil, mark, rowsAhead, rows, refused, fed } = batch
  const open = countOpenRows(batch)
  const ended = rows - refused - open
  const byRate = Math.max(pacedUntil, now) + ((rowsAhead + rows - refused - fed) * MINUTE_MS) / rowsPerMinute
  const endedLately = mark ? ended - mark.ended : 0
  const byProgress = mark && endedLately > 0 ? now + (open * (now - mark.at)) / endedLately : 0
  return Math.ceil(Math.max(byRate, byProgress))
}
