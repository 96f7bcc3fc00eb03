import type { BatchView } from '../contract/batch.ts'
import { MINUTE_MS, toIsoTime } from '../contract/time.ts'
import { type Batch, countOpenRows } from '../ledger/batch.ts'

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

/**
 * By the allowed rate after earlier batches of the key; by the rate of the last minutes, if that is lower: sources may be slow; and
 * by the rows of other keys that wait for places, which take turns with its own.
 */
function estimateEnd(batch: Batch, rowsPerMinute: number): number {
  const { now, pacedUntil, mark, rowsAhead, rows, refused, fed } = batch
  const open = countOpenRows(batch)
  const ended = rows - refused - open
  const byRate = Math.max(pacedUntil, now) + ((rowsAhead + rows - refused - fed) * MINUTE_MS) / rowsPerMinute
  const endedLately = mark ? ended - mark.ended : 0
  const byProgress = mark && endedLately > 0 ? now + (open * (now - mark.at)) / endedLately : 0
  return Math.ceil(Math.max(byRate, byProgress, now + estimateTurnsMs(batch, rowsAhead + open)))
}

/** While a key has this many rows to go, each other key that waits gets as many places, or as many as it has rows. */
function estimateTurnsMs({ lineage, running }: Batch, rows: number): number {
  const waiting = running.filter((each) => each.isLate)
  if (waiting.length === 0) return 0
  const perMs = running
    .filter((each) => each.isLate || each.lineage === lineage)
    .reduce((sum, each) => sum + each.perMs, 0)
  const others = Map.groupBy(
    waiting.filter((each) => each.lineage !== lineage),
    (each) => each.lineage,
  ).values()
  const shared = others.reduce(
    (sum, ofKey) =>
      sum +
      Math.min(
        rows,
        ofKey.reduce((all, each) => all + each.rows, 0),
      ),
    0,
  )
  return perMs > 0 ? (rows + shared) / perMs : 0
}
