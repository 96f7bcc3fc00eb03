import { useState } from 'preact/hooks'
import type { Keys } from '../../../../src/admin/keys.ts'
import type { CreatedEndpoint, Endpoints } from '../../../../src/admin/webhooks.ts'
import { useAppContext } from '../../app-context.ts'
import { NameField } from '../../components/access-fields.tsx'
import { Choices } from '../../components/choices.tsx'
import { FormDialog } from '../../components/dialog.tsx'
import { Segments, TextField } from '../../components/field.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

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
  return (
    <QueryResult query={query}>
      {({ keys }) => {
        const active = keys.filter(({ state, rolled_to }) => state === 'active' && rolled_to === null)
        const names = Object.fromEntries(active.map(({ id, name }) => [id, name]))
        return (
          <Choices
            legend="Keys"
            names={Object.keys(names)}
            labels={names}
            chosen={chosen}
            onChange={onChange}
          />
        )
      }}
    </QueryResult>
  )
}
