import { useState } from 'preact/hooks'
import type { AuditSearch } from '../../../src/admin/shapes/audit.ts'
import type { ApiError } from '../api-client.ts'
import { toLabel } from '../format.ts'
import { SubmitButton } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { SecretField, SelectField, TextField } from './field.tsx'

type Draft = {
  readonly reference: string
  readonly keyId: string
  readonly outcome: string
  readonly phase: string
  readonly from: string
  readonly to: string
  readonly kind: 'nin' | 'bvn'
  readonly number: string
}

const EMPTY: Draft = {
  reference: '',
  keyId: '',
  outcome: '',
  phase: '',
  from: '',
  to: '',
  kind: 'nin',
  number: '',
}

const KINDS = [
  { value: 'nin', text: 'NIN' },
  { value: 'bvn', text: 'BVN' },
]

/** The inputs use the time zone of the browser; the server expects UTC. */
const toUtc = (local: string) => new Date(local).toISOString()

function toSearch(draft: Draft): AuditSearch {
  const number = draft.number.replace(/\s/g, '')
  return {
    ...(draft.reference.trim() === '' ? {} : { reference: draft.reference.trim() }),
    ...(draft.keyId.trim() === '' ? {} : { key_id: draft.keyId.trim() }),
    ...(draft.outcome === '' ? {} : { outcome: draft.outcome }),
    ...(draft.phase === '' ? {} : { phase: draft.phase }),
    ...(draft.from === '' ? {} : { from: toUtc(draft.from) }),
    ...(draft.to === '' ? {} : { to: toUtc(draft.to) }),
    ...(number === '' ? {} : { subject: { kind: draft.kind, number } }),
  }
}

const toOptions = (words: readonly string[]) => [
  { value: '', text: 'Any' },
  ...words.map((word) => ({ value: word, text: toLabel(word) })),
]

type AuditFormProps = {
  /** The initial value; may be empty. */
  readonly keyId: string
  readonly outcomes: readonly string[]
  readonly phases: readonly string[]
  readonly isBusy: boolean
  readonly error: ApiError | undefined
  readonly onSearch: (search: AuditSearch) => void
}

export function AuditForm({ keyId, outcomes, phases, isBusy, error, onSearch }: AuditFormProps) {
  const [draft, setDraft] = useState({ ...EMPTY, keyId })
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(toSearch(draft))
      }}
    >
      <div class="grid">
        <TextField
          label="Reference"
          value={draft.reference}
          onValue={(reference) => change({ reference })}
          placeholder="ver_…"
          autocomplete="off"
        />
        <TextField
          label="Key id"
          value={draft.keyId}
          onValue={(keyId) => change({ keyId })}
          maxLength={20}
          autocomplete="off"
        />
        <SelectField
          label="Outcome"
          value={draft.outcome}
          onValue={(outcome) => change({ outcome })}
          options={toOptions(outcomes)}
        />
        <SelectField
          label="Phase"
          value={draft.phase}
          onValue={(phase) => change({ phase })}
          options={toOptions(phases)}
        />
        <TextField
          label="From"
          type="datetime-local"
          value={draft.from}
          onValue={(from) => change({ from })}
        />
        <TextField label="To" type="datetime-local" value={draft.to} onValue={(to) => change({ to })} />
        <Subject draft={draft} onChange={change} error={error?.fields['subject.number']} />
      </div>
      <ErrorNote error={error} />
      <div class="bar">
        <SubmitButton isBusy={isBusy}>Search</SubmitButton>
        <button
          type="button"
          class="plain"
          onClick={() => {
            setDraft(EMPTY)
            onSearch({})
          }}
        >
          Clear
        </button>
      </div>
    </form>
  )
}

type SubjectProps = {
  readonly draft: Draft
  readonly onChange: (part: Partial<Draft>) => void
  readonly error: string | undefined
}

function Subject({ draft, onChange, error }: SubjectProps) {
  return (
    <>
      <SelectField
        label="Type of number"
        value={draft.kind}
        onValue={(kind) => onChange({ kind: kind as Draft['kind'] })}
        options={KINDS}
      />
      <SecretField
        label="NIN or BVN"
        value={draft.number}
        onValue={(number) => onChange({ number })}
        maxLength={18}
        placeholder="11 digits, or a virtual NIN"
        help="The server hashes it. It is in no URL and no log."
        error={error}
      />
    </>
  )
}
