import { toClock } from '../format.ts'
import { overviewTexts as texts } from '../texts/en/overview.ts'
import type { OverviewEvents } from '../use-overview-events.ts'

/** The state of the event stream, and the time of the data while it is broken. */
export function LiveState({ live: { state, value } }: { live: OverviewEvents }) {
  return (
    <span class="dim push" role="status">
      {state === 'live' && <span class="live-dot">{texts.live}</span>}
      {state === 'connecting' && texts.connecting}
      {state === 'broken' && (value ? texts.toDataOf(toClock(value.generated_at)) : texts.reconnecting)}
    </span>
  )
}
