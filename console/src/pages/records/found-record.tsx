import { useEffect, useRef, useState } from 'preact/hooks'
import type { RecordView } from '../../../../src/admin/records.ts'
import { useHasRole } from '../../app-context.ts'
import { Facts } from '../../components/facts.tsx'
import { PersonDialog } from '../../components/person-dialog.tsx'
import { Empty } from '../../components/query-result.tsx'
import { toLabel } from '../../format.ts'

export type RecordQuery = { readonly kind: string; readonly number: string }
/** `until` is set while the record is revealed. */
export type ShownRecord = { readonly query: RecordQuery; readonly view: RecordView; readonly until?: number }

type FoundProps = {
  readonly shown: ShownRecord
  readonly onShown: (shown: ShownRecord) => void
  readonly onHide: () => void
}

export function FoundRecord({ shown, onShown, onHide }: FoundProps) {
  const isOwner = useHasRole('owner')
  const [isAsking, setAsking] = useState(false)
  const { query, view, until } = shown
  if (!view.found)
    return (
      <Empty>
        <p>There is no record with this number.</p>
      </Empty>
    )
  return (
    <div class="record">
      {until !== undefined && <Countdown until={until} onEnd={onHide} />}
      {isOwner && until === undefined && (
        <button type="button" onClick={() => setAsking(true)}>
          Reveal…
        </button>
      )}
      <Groups view={view} />
      {isAsking && (
        <PersonDialog<RecordView>
          title="Reveal this record?"
          note="Your name, the reason and the time are written to the audit log. The values are hidden after 60 seconds."
          verb="Reveal for 60 seconds"
          path="/admin/records/reveal"
          query={query}
          onClose={() => setAsking(false)}
          onDone={(revealed) => onShown({ query, view: revealed, until: Date.now() + REVEAL_MS })}
        />
      )}
    </div>
  )
}

/** `personal_info.first_name` is shown under Personal info, a name without a dot under Record. */
function Groups({ view }: { view: RecordView }) {
  const groups = Map.groupBy(
    view.fields,
    ({ name }) => (name.includes('../../components') ? name.split('../../components')[0] : '') ?? '',
  )
  return (
    <>
      {[...groups].map(([group, fields]) => (
        <section key={group}>
          <h3>{group === '' ? 'Record' : toLabel(group)}</h3>
          <Facts
            facts={fields.map(
              ({ name, value }) => [toLabel(name.split('../../components').at(-1) ?? name), value] as const,
            )}
          />
        </section>
      ))}
    </>
  )
}

const REVEAL_MS = 60_000

/** Hides the record after a minute, or at once when the tab is hidden. */
function Countdown({ until, onEnd }: { until: number; onEnd: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  const [left, setLeft] = useState(Math.ceil((until - Date.now()) / 1000))
  useEffect(() => {
    // The button that had the focus was removed.
    button.current?.focus()
    const timer = setInterval(() => {
      const seconds = Math.ceil((until - Date.now()) / 1000)
      if (seconds <= 0) onEnd()
      else setLeft(seconds)
    }, 250)
    const onVisibility = () => document.hidden && onEnd()
    document.addEventListener('visibilitychange', onVisibility)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', onVisibility)
    }
  }, [until, onEnd])
  return (
    <div class="note warn bar">
      <span>
        Visible for <b class="number">{left}</b> seconds
      </span>
      <progress value={left} max={REVEAL_MS / 1000} aria-label="Seconds left" />
      <button ref={button} type="button" class="small" onClick={onEnd}>
        Hide now
      </button>
    </div>
  )
}
