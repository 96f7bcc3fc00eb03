import { toClock } from '../format.ts'
import type { OverviewEvents } from '../use-overview-events.ts'

/** The state of the event stream, and the time of the data while it is broken. */
export function LiveState({ live: { state, value } }: { live: OverviewEvents }) {
  return (
    <span class="dim push" role="status">
      {state === 'live' && <span class="live-dot">{toLiveWords(value?.stale_since ?? null)}</span>}
      {state === 'connecting' && 'Connecting…'}
      {state === 'broken' &&
        (value ? `Reconnecting… Data of ${toClock(value.generated_at)}.` : 'Reconnecting…')}
    </span>
  )
}

const toLiveWords = (staleSince: string | null) =>
  staleSince === null
    ? 'Updating live'
    : `Updating requests live. Other figures are of ${toClock(staleSince)}, while the database cannot be read.`
