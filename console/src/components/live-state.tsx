import { toClock } from '../format.ts'
import type { OverviewEvents } from '../use-overview-events.ts'

/** Whether what is shown follows what happens, and from when it is while it does not. */
export function LiveState({ live: { state, value } }: { live: OverviewEvents }) {
  return (
    <span class="dim push" role="status">
      {state === 'live' && <span class="beat">Updating live</span>}
      {state === 'connecting' && 'Connecting…'}
      {state === 'broken' && `Reconnecting…${value ? ` This is from ${toClock(value.generated_at)}.` : ''}`}
    </span>
  )
}
