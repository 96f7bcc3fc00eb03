import { useEffect, useState } from 'preact/hooks'
import type { AuditOptions } from '../../../../src/admin/audit.ts'
import type { ApiError } from '../../api-client.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { KeyField } from '../../components/key-field.tsx'
import { toLabel, toOperation } from '../../format.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import type { TypedNumber } from './use-audit-search.ts'
import {
  AUDIT_FILTERS,
  type AuditFilters,
  type AuditView,
  fromLocalInput,
  toLocalInput,
} from './use-audit-search.ts'

/** What the form shows: the filters of the address, with local times, and a number that is never in the address. */
type Draft = AuditFilters & { readonly kind: TypedNumber['kind']; readonly number: string }

const toDraft = (filters: AuditFilters): Draft => ({
  ...filters,
  from: toLocalInput(filters.from),
  to: toLocalInput(filters.to),
  kind: 'nin',
  number: '',
})

function toFilters(draft: Draft): AuditFilters {
  const times = { from: fromLocalInput(draft.from ?? ''), to: fromLocalInput(draft.to ?? '') }
  const given = { ...draft, ...times }
  return Object.fromEntries(
    AUDIT_FILTERS.flatMap((name) => {
      const value = given[name]?.trim()
      return value ? [[name, value]] : []
    }),
  )
}

type AuditFormProps = {
  readonly view: AuditView
  readonly filters: AuditFilters
  readonly options: AuditOptions | undefined
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  readonly onSearch: (filters: AuditFilters, number: TypedNumber | undefined) => void
}

export function AuditForm({ view, filters, options, isBusy, error, onSearch }: AuditFormProps) {
  const [draft, setDraft] = useState(() => toDraft(filters))
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const address = JSON.stringify(filters)
  // Another address, such as one from the history, is shown in the form.
  useEffect(() => setDraft(toDraft(filters)), [address])
  const number = draft.number.replace(/\s/g, '')
  const search = (next: Draft) =>
    onSearch(toFilters(next), number === '' ? undefined : { kind: next.kind, number })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        search(draft)
      }}
    >
      <div class="grid">
        <Filters view={view} draft={draft} options={options} onChange={change} error={error} />
        <Person draft={draft} onChange={change} error={error?.fields['subject.number']} />
      </div>
      {filters.person && (
        <p class="bar">
          One person, by the keyed hash of the number.{' '}
          <button type="button" class="small" onClick={() => onSearch({ ...filters, person: '' }, undefined)}>
            Any person
          </button>
        </p>
      )}
      <ErrorNote error={error} />
      <div class="bar">
        <SubmitButton isBusy={isBusy}>Search</SubmitButton>
        <button type="button" class="plain" onClick={() => onSearch({}, undefined)}>
          Clear
        </button>
      </div>
    </form>
  )
}

type FieldsProps = { readonly draft: Draft; readonly onChange: (part: Partial<Draft>) => void }

const toOptions = (words: readonly string[], toText = toLabel) => [
  { value: '', text: 'Any' },
  ...words.map((word) => ({ value: word, text: word === 'none' ? 'No outcome recorded' : toText(word) })),
]

function Filters({
  view,
  draft,
  options,
  onChange,
  error,
}: FieldsProps & { view: AuditView; options: AuditOptions | undefined; error: ApiError | undefined }) {
  const select = (
    name: 'outcome' | 'operation' | 'source' | 'phase',
    label: string,
    words: string[] = [],
  ) => (
    <SelectField
      label={label}
      value={draft[name] ?? ''}
      onValue={(value) => onChange({ [name]: value })}
      // A value of the address stays, also if it is not in the list.
      options={toOptions(
        draft[name] && !words.includes(draft[name]) ? [...words, draft[name]] : words,
        name === 'operation' ? toOperation : toLabel,
      )}
    />
  )
  return (
    <>
      <TextField
        label="Reference"
        value={draft.reference ?? ''}
        onValue={(reference) => onChange({ reference })}
        placeholder="ver_…"
        autocomplete="off"
        maxLength={100}
      />
      <KeyField value={draft.key ?? ''} onValue={(key) => onChange({ key })} error={error?.fields.key} />
      {select('outcome', 'Outcome', options?.outcomes)}
      {select('operation', 'Operation', options?.operations)}
      {select('source', 'Source', options?.sources)}
      {view === 'rows' && select('phase', 'Phase', options?.phases)}
      <TextField
        label="Consent reference"
        value={draft.consent_reference ?? ''}
        onValue={(consent_reference) => onChange({ consent_reference })}
        autocomplete="off"
        maxLength={200}
      />
      <TextField
        label="From"
        type="datetime-local"
        value={draft.from ?? ''}
        onValue={(from) => onChange({ from })}
      />
      <TextField label="To" type="datetime-local" value={draft.to ?? ''} onValue={(to) => onChange({ to })} />
    </>
  )
}

function Person({ draft, onChange, error }: FieldsProps & { error: string | undefined }) {
  return (
    <>
      <SelectField
        label="Type of number"
        value={draft.kind}
        onValue={(kind) => onChange({ kind: kind as Draft['kind'] })}
        options={NUMBER_KINDS}
      />
      <SecretField
        label="NIN or BVN"
        value={draft.number}
        onValue={(number) => onChange({ number })}
        maxLength={18}
        placeholder="11 digits, or a virtual NIN"
        help="The server hashes it. It is in no URL and no log; the address then has the keyed hash."
        error={error}
      />
    </>
  )
}
