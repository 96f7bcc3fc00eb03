import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { RecordCounts, RecordView } from '../../../src/admin/shapes/records.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { type ApiError, sayPasswordOnly } from '../api-client.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { Confirm, SubmitButton } from '../components/dialog.tsx'
import { SecretField, SelectField, TextField } from '../components/field.tsx'
import { Facts, Panel } from '../components/pieces.tsx'
import { Empty, ErrorNote, QueryResult } from '../components/states.tsx'
import { toCount, toLabel } from '../format.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'

type Wish = { readonly kind: string; readonly number: string }
/** `until` is set while the record is in the clear. */
type Seen = { readonly wish: Wish; readonly view: RecordView; readonly until?: number }

export function Records() {
  const answer = useQuery<Static<typeof RecordCounts>>('/admin/records')
  const may = useHasRole('operator')
  return (
    <>
      <Panel title="Your own records">
        <QueryResult answer={answer} lines={2}>
          {({ nin, bvn, pictures }) =>
            nin + bvn === 0 ? (
              <Empty>
                <p>
                  There are none. <code>tabbat import</code> reads them from a file, sealed one by one.
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
      {may ? (
        <LookUp />
      ) : (
        <p class="dim">Your role may see how many records there are, but not look one up.</p>
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

const KINDS = [
  { value: 'nin', text: 'NIN' },
  { value: 'bvn', text: 'BVN' },
]

function LookUp() {
  const { api } = useAppContext()
  const [wish, setWish] = useState<Wish>({ kind: 'nin', number: '' })
  const [seen, setSeen] = useState<Seen>()
  const look = useMutation(async (asked: Wish) => {
    setSeen(undefined)
    setSeen({ wish: asked, view: await api.post<RecordView>('/admin/records/lookup', asked) })
  })
  const hide = useCallback(() => setSeen(undefined), [])
  return (
    <Panel title="Look one up">
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          look.run({ ...wish, number: wish.number.replace(/\s/g, '') })
        }}
      >
        <SelectField
          label="By"
          value={wish.kind}
          onValue={(kind) => setWish({ ...wish, kind })}
          options={KINDS}
        />
        <SecretField
          label="Number"
          value={wish.number}
          onValue={(number) => setWish({ ...wish, number })}
          inputMode="numeric"
          placeholder="11 digits"
          maxLength={14}
        />
        <SubmitButton isBusy={look.isBusy}>Look up</SubmitButton>
      </form>
      <p class="dim">QueryResult masked. That you looked is written into the audit.</p>
      <ErrorNote error={look.error} />
      {seen && <Found seen={seen} onActivity={setSeen} onHide={hide} />}
    </Panel>
  )
}

type FoundProps = {
  readonly seen: Seen
  readonly onActivity: (seen: Seen) => void
  readonly onHide: () => void
}

function Found({ seen, onActivity, onHide }: FoundProps) {
  const isOwner = useHasRole('owner')
  const [isAsking, setAsking] = useState(false)
  const { wish, view, until } = seen
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
          Show in the clear…
        </button>
      )}
      <Groups view={view} />
      {isAsking && (
        <Reveal
          wish={wish}
          onClose={() => setAsking(false)}
          onRevealed={(revealed) => {
            setAsking(false)
            onActivity({ wish, view: revealed, until: Date.now() + SHOWN_MS })
          }}
        />
      )}
    </div>
  )
}

/** `personal_info.first_name` stands under Personal info; a name without a dot under Record. */
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

const SHOWN_MS = 60_000

/** Hides at the end of the minute, and at once when the tab goes out of sight. */
function Countdown({ until, onEnd }: { until: number; onEnd: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  const [left, setLeft] = useState(Math.ceil((until - Date.now()) / 1000))
  useEffect(() => {
    // The button that asked for this is gone.
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
        In the clear for <b class="number">{left}</b> seconds
      </span>
      <progress value={left} max={SHOWN_MS / 1000} aria-label="Seconds left" />
      <button ref={button} type="button" class="small" onClick={onEnd}>
        Hide now
      </button>
    </div>
  )
}

type RevealProps = {
  readonly wish: Wish
  readonly onClose: () => void
  readonly onRevealed: (view: RecordView) => void
}

function Reveal({ wish, onClose, onRevealed }: RevealProps) {
  const { api } = useAppContext()
  const [reason, setReason] = useState('')
  const [password, setPassword] = useState('')
  const mutation = useMutation(async () => {
    const body = { ...wish, reason: reason.trim(), password }
    onRevealed(await api.post<RecordView>('/admin/records/reveal', body).catch(sayPasswordOnly))
  })
  return (
    <Confirm
      title="Show this record in the clear?"
      verb="Show for a minute"
      mutation={mutation}
      onClose={onClose}
    >
      <p>Your name, the reason and the time are written into the audit. It hides itself after a minute.</p>
      <TextField
        label="Reason"
        value={reason}
        onValue={setReason}
        help="In 10 to 200 characters. No names or numbers: it stays in the audit for ever."
        error={toFieldError(mutation.error, 'reason')}
        minLength={10}
        maxLength={200}
        autocomplete="off"
        required
      />
      <SecretField
        label="Your password"
        value={password}
        onValue={setPassword}
        autocomplete="current-password"
        error={toFieldError(mutation.error, 'password')}
        required
      />
    </Confirm>
  )
}

const toFieldError = (error: ApiError | undefined, name: string) => error?.fields[name]
