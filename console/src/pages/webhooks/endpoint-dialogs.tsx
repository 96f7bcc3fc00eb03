import { useState } from 'preact/hooks'
import type { Keys } from '../../../../src/admin/keys.ts'
import type {
  CreatedEndpoint,
  Endpoint,
  Endpoints,
  Resent,
  TestResult,
} from '../../../../src/admin/webhooks.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { Choices } from '../../components/choices.tsx'
import { Confirm, Dialog, FormDialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { NameField, Segments, TextField } from '../../components/field.tsx'
import { KeyPicker } from '../../components/key-field.tsx'
import { Pill } from '../../components/pill.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { RollDialog } from '../../components/roll-dialog.tsx'
import { toCount, toMs } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

type RowProps = { readonly row: Endpoint; readonly onClose: () => void }

const toPath = ({ id }: Endpoint, action: string) => `/admin/webhooks/${encodeURIComponent(id)}/${action}`

export function TestEndpointDialog({ row, onClose }: RowProps) {
  const { api } = useAppContext()
  const [result, setResult] = useState<TestResult>()
  const mutation = useMutation(async () => setResult(await api.post<TestResult>(toPath(row, 'test'))))
  if (result) return <TestResultDialog row={row} result={result} onClose={onClose} />
  return (
    <Confirm title="Send a test event?" verb="Send" mutation={mutation} onClose={onClose}>
      <p>
        <b class="breaks">{row.name}</b> gets the event <code>webhook.test</code> once, with a signature.
      </p>
    </Confirm>
  )
}

function TestResultDialog({ row, result, onClose }: RowProps & { result: TestResult }) {
  return (
    <Dialog title={`Test of ${row.name}`} onClose={onClose}>
      <p>
        <Pill tone={result.ok ? 'good' : 'bad'}>{result.ok ? 'delivered' : 'not delivered'}</Pill>
      </p>
      <p>{result.explanation}</p>
      <Facts
        facts={[
          ['Status', result.status === null ? 'no response' : String(result.status)],
          ['Duration', toMs(result.duration_ms)],
        ]}
      />
      <footer>
        <button type="button" class="main" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}

type ResentShape = Static<typeof Resent>

/** Sends what was given up again, and says how much that was. */
export function ResendFailedDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const [since, setSince] = useState('')
  const [resent, setResent] = useState<ResentShape>()
  const resend = useMutation(async () => {
    const body = since === '' ? {} : { since: new Date(since).toISOString() }
    setResent(await api.post<ResentShape>(toPath(row, 'resend-failed'), body))
    onDone()
  })
  if (resent)
    return (
      <Dialog title={`Resent to ${row.name}`} onClose={onClose}>
        <p role="status">{toResentText(resent)}</p>
        <footer>
          <button type="button" class="main" onClick={onClose}>
            Close
          </button>
        </footer>
      </Dialog>
    )
  return (
    <Confirm title="Resend all that failed?" verb="Send again" mutation={resend} onClose={onClose}>
      <p>
        Events that were given up are sent to <b class="breaks">{row.name}</b> again, with the same ids, the
        oldest first and at most 1000. The receiver must ignore ids that it has.
      </p>
      <TextField
        label="Failed since"
        type="datetime-local"
        value={since}
        onValue={setSince}
        help="When the last attempt failed. Empty: all that failed."
        error={resend.error?.fields.since}
      />
    </Confirm>
  )
}

function toResentText({ resent, is_cut }: ResentShape): string {
  if (resent === 0) return 'No event has failed in this time. Nothing is sent.'
  const sent = `${toCount(resent)} ${resent === 1 ? 'event is' : 'events are'} sent again.`
  return is_cut ? `${sent} There may be more: resend again when these were delivered.` : sent
}

const OVERLAPS = [
  { value: '0s', text: 'None: the old secret has leaked' },
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
]

type RollProps = RowProps & { readonly onCreated: (created: CreatedEndpoint) => void }

export function RollSecretDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedEndpoint>(toPath(row, 'roll'), { overlap }))
  const words = {
    title: 'Roll the secret?',
    verb: 'Create the new secret',
    label: 'The old secret signs for another',
  }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>
        <b class="breaks">{row.name}</b> gets a new secret. During the overlap each request has two
        signatures, by the new and by the old secret.
      </p>
    </RollDialog>
  )
}

type ChangeProps = RowProps & { readonly onDone: () => void }

export function SwitchEndpointDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const what = row.state === 'disabled' ? 'enable' : 'disable'
  const mutation = useMutation(async () => {
    await api.post(toPath(row, what))
    onDone()
  })
  return (
    <Confirm
      title={what === 'enable' ? 'Enable this endpoint?' : 'Disable this endpoint?'}
      verb={what === 'enable' ? 'Enable' : 'Disable'}
      mutation={mutation}
      onClose={onClose}
      isDanger={what === 'disable'}
    >
      <p>
        {what === 'enable'
          ? 'Events that waited are sent now.'
          : 'Nothing is sent until it is enabled. Events that happen meanwhile are not stored for it.'}
      </p>
    </Confirm>
  )
}

export function DeleteEndpointDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(toPath(row, 'delete'))
    onDone()
  })
  return (
    <Confirm
      title="Delete this endpoint?"
      verb="Delete"
      mutation={mutation}
      onClose={onClose}
      typed={row.id}
      isDanger
    >
      <p>
        <b class="breaks">{row.name}</b> is deleted with its secret and its deliveries. What waits is not
        sent. This cannot be undone.
      </p>
    </Confirm>
  )
}

const OWNERS = [
  { value: 'operator', text: 'The operator' },
  { value: 'keys', text: 'API keys' },
] as const

/** The state of the form. */
type Draft = {
  readonly name: string
  readonly url: string
  readonly owner: 'operator' | 'keys'
  readonly keys: readonly string[]
  readonly events: readonly string[]
}

type CreateProps = {
  readonly endpoints: Endpoints
  readonly onClose: () => void
  readonly onCreated: (created: CreatedEndpoint) => void
}

export function CreateEndpointDialog({ endpoints, onClose, onCreated }: CreateProps) {
  const { api } = useAppContext()
  const [draft, setDraft] = useState<Draft>({ name: '', url: '', owner: 'operator', keys: [], events: [] })
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const isOfKeys = draft.owner === 'keys'
  const known = isOfKeys ? endpoints.key_events : endpoints.events
  const events = draft.events.filter((event) => known.includes(event))
  const create = useMutation(async () => {
    const { name, url } = draft
    const keys = isOfKeys ? draft.keys : []
    const body = { name: name.trim(), url: url.trim(), events, keys }
    onCreated(await api.post<CreatedEndpoint>('/admin/webhooks', body))
  })
  const { fields = {} } = create.error ?? {}
  const isReady =
    draft.name.trim() !== '' &&
    draft.url.trim() !== '' &&
    events.length > 0 &&
    (!isOfKeys || draft.keys.length > 0)
  return (
    <FormDialog
      title="Create an endpoint"
      verb="Create endpoint"
      mutation={create}
      onSubmit={create.run}
      onClose={onClose}
      isReady={isReady}
      isWide
    >
      <NameField
        label="Name"
        value={draft.name}
        onValue={(name) => change({ name })}
        example="Loans app"
        error={fields.name}
      />
      <TextField
        label="Address"
        value={draft.url}
        onValue={(url) => change({ url })}
        placeholder="https://shop.example.com/webhooks"
        help="Put no secret into it: requests are signed."
        error={fields.url}
        maxLength={2000}
        inputMode="url"
        required
      />
      <Segments
        legend="Belongs to"
        value={draft.owner}
        options={OWNERS}
        onValue={(owner) => change({ owner })}
      />
      {isOfKeys && <KeyChoice chosen={draft.keys} onChange={(keys) => change({ keys })} />}
      <Choices legend="Events" names={known} chosen={events} onChange={(next) => change({ events: next })} />
    </FormDialog>
  )
}

type ChoiceProps = { readonly chosen: readonly string[]; readonly onChange: (chosen: string[]) => void }

/** Keys that were rolled are left out: their successor stands for them. */
function KeyChoice({ chosen, onChange }: ChoiceProps) {
  const query = useQuery<Keys>('/admin/keys')
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<string>()
  const add = (keys: Keys['keys']) => {
    const named = keys.filter(({ id, name }) => id === typed.trim() || name === typed.trim())
    const [key] = named
    if (!key || named.length > 1) return setProblem(toPickProblem(named.length))
    onChange([...new Set([...chosen, key.id])])
    setTyped('')
  }
  return (
    <QueryResult query={query}>
      {({ keys }) => {
        const active = keys.filter(({ state, rolled_to }) => state === 'active' && rolled_to === null)
        return (
          <>
            <KeyPicker
              keys={active}
              value={typed}
              error={problem}
              onValue={(text) => {
                setTyped(text)
                setProblem(undefined)
              }}
            />
            <button type="button" disabled={typed.trim() === ''} onClick={() => add(active)}>
              Add the key
            </button>
            <ul class="chips" aria-label="Keys of the endpoint">
              {chosen.map((id) => (
                <li key={id}>
                  <button
                    type="button"
                    class="chip"
                    aria-pressed="true"
                    aria-label={`Remove the key ${id}`}
                    onClick={() => onChange(chosen.filter((other) => other !== id))}
                  >
                    <span class="breaks">{active.find((key) => key.id === id)?.name ?? ''}</span>{' '}
                    <code>{id}</code> <span aria-hidden="true">×</span>
                  </button>
                </li>
              ))}
            </ul>
          </>
        )
      }}
    </QueryResult>
  )
}

const toPickProblem = (found: number) =>
  found === 0 ? 'No active key has this name or id.' : 'Several active keys have this name. Give the id.'
