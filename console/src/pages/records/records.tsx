import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { RecordCounts, RecordView, Unlocked } from '../../../../src/admin/records.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Facts } from '../../components/facts.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { PersonDialog } from '../../components/person-dialog.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { toCount, toLabel } from '../../format.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import { useFilters } from '../../route.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

export function Records() {
  const query = useQuery<Static<typeof RecordCounts>>('/admin/records')
  const isOperator = useHasRole('operator')
  return (
    <>
      <Panel title="Your own records">
        <QueryResult query={query} lines={2}>
          {({ nin, bvn, pictures }) =>
            nin + bvn === 0 ? (
              <Empty>
                <p>
                  There are no records. Import them with <code>tabbat import</code>; each record is encrypted.
                </p>
              </Empty>
            ) : (
              <dl class="tiles">
                {toTiles({ nin, bvn, pictures }).map(([name, count]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>
                      <b>{toCount(count)}</b>
                    </dd>
                  </div>
                ))}
              </dl>
            )
          }
        </QueryResult>
      </Panel>
      {isOperator ? (
        <>
          <LookUp />
          <UnlockPanel />
        </>
      ) : (
        <p class="dim">Your role shows only the number of records. Looking one up needs the role operator.</p>
      )}
    </>
  )
}

const toTiles = ({ nin, bvn, pictures }: Static<typeof RecordCounts>) =>
  [
    ['NIN records', nin],
    ['BVN records', bvn],
    ['Pictures', pictures],
  ] as const

function LookUp() {
  const { api } = useAppContext()
  const [input, setInput] = useState<RecordQuery>({ kind: 'nin', number: '' })
  const [shown, setShown] = useState<ShownRecord>()
  const lookUp = useMutation(async (query: RecordQuery) => {
    setShown(undefined)
    setShown({ query, view: await api.post<RecordView>('/admin/records/lookup', query) })
  })
  const hide = useCallback(() => setShown(undefined), [])
  return (
    <Panel title="Look up a record">
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          lookUp.run({ ...input, number: input.number.replace(/\s/g, '') })
        }}
      >
        <SelectField
          label="Type"
          value={input.kind}
          onValue={(kind) => setInput({ ...input, kind })}
          options={NUMBER_KINDS}
        />
        <SecretField
          label="Number"
          value={input.number}
          onValue={(number) => setInput({ ...input, number })}
          inputMode="numeric"
          placeholder="11 digits"
          maxLength={14}
        />
        <SubmitButton isBusy={lookUp.isBusy}>Look up</SubmitButton>
      </form>
      <p class="dim">Values are masked. Each look-up is written to the audit log.</p>
      <ErrorNote error={lookUp.error} />
      {shown && <FoundRecord shown={shown} onShown={setShown} onHide={hide} />}
    </Panel>
  )
}

type RecordQuery = { readonly kind: string; readonly number: string }
/** `until` is set while the record is revealed. */
type ShownRecord = { readonly query: RecordQuery; readonly view: RecordView; readonly until?: number }

type FoundProps = {
  readonly shown: ShownRecord
  readonly onShown: (shown: ShownRecord) => void
  readonly onHide: () => void
}

function FoundRecord({ shown, onShown, onHide }: FoundProps) {
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
  const groups = Map.groupBy(view.fields, ({ name }) => (name.includes('.') ? name.split('.')[0] : '') ?? '')
  return (
    <>
      {[...groups].map(([group, fields]) => (
        <section key={group}>
          <h3>{group === '' ? 'Record' : toLabel(group)}</h3>
          <Facts
            facts={fields.map(({ name, value }) => [toLabel(name.split('.').at(-1) ?? name), value] as const)}
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

const EMPTY = { number: '', reference: '', reason: '' }
const UNLOCK_BY = [...NUMBER_KINDS, { value: 'reference', text: 'Reference' }]

function UnlockPanel() {
  const { api } = useAppContext()
  const [filters] = useFilters()
  // The timeline of a refused verification links here with its reference.
  const linked = filters.get('unlock') ?? ''
  const [kind, setKind] = useState(linked === '' ? 'nin' : 'reference')
  const [input, setInput] = useState({ ...EMPTY, reference: linked })
  const isByReference = kind === 'reference'
  const [result, setResult] = useState<Unlocked>()
  const unlock = useMutation(async () => {
    setResult(undefined)
    const number = input.number.replace(/\s/g, '')
    const locked = isByReference ? { reference: input.reference.trim() } : { kind, number }
    setResult(await api.post<Unlocked>('/admin/attempts/unlock', { ...locked, reason: input.reason }))
    setInput(EMPTY)
  })
  const { fields = {} } = unlock.error ?? {}
  return (
    <Panel title="Unlock a number">
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          unlock.run()
        }}
      >
        <SelectField label="Unlock by" value={kind} onValue={setKind} options={UNLOCK_BY} />
        {isByReference ? (
          <TextField
            label="Reference of a verification"
            value={input.reference}
            onValue={(reference) => setInput({ ...input, reference })}
            placeholder="ver_…"
            error={fields.reference}
            maxLength={100}
            autocomplete="off"
          />
        ) : (
          <SecretField
            label="Number to unlock"
            value={input.number}
            onValue={(number) => setInput({ ...input, number })}
            placeholder="11 digits"
            error={fields.number}
            maxLength={20}
          />
        )}
        <TextField
          label="Reason"
          value={input.reason}
          onValue={(reason) => setInput({ ...input, reason })}
          placeholder="New phone, ticket 481"
          help="10 to 200 characters, without the number of a person."
          error={fields.reason}
          maxLength={200}
        />
        <SubmitButton
          isBusy={unlock.isBusy}
          isDisabled={
            (isByReference ? input.reference : input.number).trim() === '' || input.reason.trim() === ''
          }
        >
          Unlock
        </SubmitButton>
      </form>
      <p class="dim">
        After five failed matches by one key in 24 hours, or twenty by all, a number gets 429
        too_many_attempts. Unlocking forgets them. A reference of any of its verifications is enough: the
        number need not be known. It is written to the audit log, with the reason.
      </p>
      <ErrorNote error={unlock.error} />
      <p role="status">{result && toText(result)}</p>
    </Panel>
  )
}

const toText = ({ failed_matches: failed }: Unlocked) =>
  failed === 0
    ? 'The number has no failed matches in the last 24 hours.'
    : `The number can be verified again. Failed matches forgotten: ${toCount(failed)}.`
