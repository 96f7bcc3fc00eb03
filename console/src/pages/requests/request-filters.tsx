import { useState } from 'preact/hooks'
import type { RequestList } from '../../../../src/admin/requests.ts'
import type { ApiError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { KeyField } from '../../components/key-field.tsx'
import { toLabel, toOperation } from '../../format.ts'
import type { FilterChanges } from '../../route.ts'

type RequestFiltersProps = {
  readonly filters: URLSearchParams
  readonly options: Pick<RequestList, 'operations' | 'codes'> | undefined
  readonly onChange: (changes: FilterChanges) => void
  readonly error: ApiError | undefined
}

const EMPTY = { id: '', key: '', operation: '', status: '', code: '', mode: '', from: '', to: '' }
type Draft = typeof EMPTY

const STATUSES = ['401', '403', '404', '409', '413', '422', '429', '500', '502', '503', '504']
/** Ids that say nothing about a person. Any other is sent in a body, and its hash comes into the address. */
const IS_RANDOM = /^(req_[0-9a-f]{32}|own_[0-9a-f]{32}|ver_[0-9a-z]{36})$/

/** The form of the filters. They take effect in the address, which can be shared. */
export function RequestFilters({ filters, options, onChange, error }: RequestFiltersProps) {
  const { api } = useAppContext()
  const [draft, setDraft] = useState(() => toDraft(filters))
  const [problem, setProblem] = useState<ApiError>()
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const apply = async () => {
    const id = draft.id.trim()
    setProblem(undefined)
    try {
      const { request_id } =
        id === '' || IS_RANDOM.test(id)
          ? { request_id: id }
          : await api.post<{ request_id: string }>('/admin/requests/id', { request_id: id })
      onChange(toChanges({ ...draft, id: request_id }))
    } catch (thrown) {
      setProblem(thrown as ApiError)
    }
  }
  const toSelect = (label: string, name: keyof Draft, choices: readonly Choice[]) => (
    <SelectField
      label={label}
      value={draft[name]}
      onValue={(value) => change({ [name]: value })}
      options={[{ value: '', text: 'Any' }, ...choices]}
    />
  )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <div class="grid">
        <TextField
          label="Request id or reference"
          help="The X-Request-Id of a response, or a request_reference."
          value={draft.id}
          onValue={(id) => change({ id })}
          maxLength={64}
          autocomplete="off"
          error={problem?.fields.request_id}
        />
        <KeyField value={draft.key} onValue={(key) => change({ key })} error={error?.fields.key} />
        {toSelect('Operation', 'operation', toOperations(options?.operations))}
        {toSelect('Status', 'status', STATUS_CHOICES)}
        {toSelect(
          'Code',
          'code',
          (options?.codes ?? []).map((value) => ({ value, text: toLabel(value) })),
        )}
        {toSelect('Mode', 'mode', MODE_CHOICES)}
        <TextField
          label="From"
          type="datetime-local"
          value={draft.from}
          onValue={(from) => change({ from })}
        />
        <TextField label="To" type="datetime-local" value={draft.to} onValue={(to) => change({ to })} />
      </div>
      <ErrorNote error={problem ?? error} />
      <div class="bar">
        <SubmitButton isBusy={false}>Search</SubmitButton>
        <button type="button" class="plain" onClick={() => onChange(toChanges(EMPTY))}>
          Clear
        </button>
      </div>
    </form>
  )
}

type Choice = { readonly value: string; readonly text: string }

const STATUS_CHOICES: readonly Choice[] = [
  { value: '0', text: 'Broken off' },
  { value: '2xx', text: '2xx: answered' },
  { value: 'refused', text: 'Refused: 4xx, without not verified' },
  { value: '4xx', text: '4xx' },
  { value: '5xx', text: '5xx: failed' },
  ...STATUSES.map((value) => ({ value, text: value })),
]
const MODE_CHOICES: readonly Choice[] = [
  { value: 'test', text: 'Test' },
  { value: 'live', text: 'Live' },
]

const toOperations = (names: readonly string[] = []): readonly Choice[] =>
  names.map((value) => ({ value, text: value === 'unknown' ? 'Unknown address' : toOperation(value) }))

/** The inputs use the time zone of the browser, the address UTC. */
const toLocal = (utc: string | null) => {
  const at = Date.parse(utc ?? '')
  if (Number.isNaN(at)) return ''
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
const toUtc = (local: string) => (local === '' ? undefined : new Date(local).toISOString())

function toDraft(filters: URLSearchParams): Draft {
  const get = (name: string) => filters.get(name) ?? ''
  return {
    id: get('request_id') || get('request_reference'),
    key: get('key'),
    operation: get('operation'),
    status: get('status'),
    code: get('code'),
    mode: get('mode'),
    from: toLocal(filters.get('from')),
    to: toLocal(filters.get('to')),
  }
}

const toChanges = ({ id, from, to, ...draft }: Draft): FilterChanges => ({
  ...draft,
  key: draft.key.trim(),
  request_id: id.startsWith('ver_') ? undefined : id,
  request_reference: id.startsWith('ver_') ? id : undefined,
  from: toUtc(from),
  to: toUtc(to),
})
