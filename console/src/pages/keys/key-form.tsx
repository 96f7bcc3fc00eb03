import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Keys } from '../../../../src/admin/keys.ts'
import { AddressesField, NameField } from '../../components/access-fields.tsx'
import { Choices } from '../../components/choices.tsx'
import { FormDialog } from '../../components/dialog.tsx'
import { Checkbox, SelectField, TextField } from '../../components/field.tsx'
import type { Mutation } from '../../use-mutation.ts'
import { FieldPolicy } from './field-policy.tsx'
import { AS_BEFORE, type KeyDraft } from './key-draft.ts'

type FormProps = {
  readonly keys: Keys
  readonly initial: KeyDraft
  readonly title: string
  readonly verb: string
  readonly mutation: Mutation<[KeyDraft]>
  readonly onClose: () => void
  /** Between the name and the scopes. */
  readonly children: (draft: KeyDraft, change: (part: Partial<KeyDraft>) => void) => ComponentChildren
}

/** The options of a key, for a new one and for a change. */
export function KeyForm({ keys, initial, title, verb, mutation, onClose, children }: FormProps) {
  const [draft, setDraft] = useState(initial)
  const change = (part: Partial<KeyDraft>) => setDraft((old) => ({ ...old, ...part }))
  const { fields = {} } = mutation.error ?? {}
  const section = { keys, draft, onChange: change, errors: fields }
  return (
    <FormDialog
      title={title}
      verb={verb}
      mutation={mutation}
      onSubmit={() => mutation.run(draft)}
      onClose={onClose}
      isReady={draft.name.trim() !== '' && draft.scopes.length > 0}
      isWide
    >
      <NameField
        label="Name"
        value={draft.name}
        onValue={(name) => change({ name })}
        example="Loans app, production"
        help="The program and purpose. Use one key per purpose."
        error={fields.name}
      />
      {children(draft, change)}
      <Choices
        legend="Scopes"
        names={keys.scopes}
        labels={SCOPE_LABELS}
        chosen={draft.scopes}
        onChange={(scopes) => change({ scopes })}
      />
      <Limits {...section} isNew={initial.expiry !== AS_BEFORE} />
      <Behaviour {...section} />
      <FieldPolicy
        groups={keys.field_groups}
        policy={draft.policy}
        onPolicy={(policy) => change({ policy })}
      />
    </FormDialog>
  )
}

type SectionProps = {
  readonly keys: Keys
  readonly draft: KeyDraft
  readonly onChange: (part: Partial<KeyDraft>) => void
  readonly errors: Readonly<Record<string, string>>
}

const SCOPE_LABELS: Readonly<Record<string, string>> = {
  'kyc:nin': 'Verify NINs',
  'kyc:bvn': 'Verify BVNs',
  'catalogue:read': 'Read bundle lists',
}

const EXPIRIES = [
  { value: '', text: 'Never' },
  { value: '24h', text: 'In 24 hours' },
  { value: '30d', text: 'In 30 days' },
  { value: '90d', text: 'In 90 days' },
  { value: '1y', text: 'In 1 year' },
]

function Limits({ keys, draft, onChange, errors, isNew }: SectionProps & { isNew: boolean }) {
  return (
    <div class="grid">
      <SelectField
        label="Expires"
        value={draft.expiry}
        onValue={(expiry) => onChange({ expiry })}
        options={isNew ? EXPIRIES : [{ value: AS_BEFORE, text: 'As before' }, ...EXPIRIES]}
        error={errors.expires_in}
      />
      <TextField
        label="Distinct people per day, at most"
        value={draft.cap}
        onValue={(cap) => onChange({ cap })}
        placeholder={String(keys.subjects_per_day_default)}
        inputMode="numeric"
        pattern="[0-9]{1,9}"
        error={errors.subjects_per_day}
      />
      <AddressesField
        value={draft.addresses}
        onValue={(addresses) => onChange({ addresses })}
        error={errors.allowed_ips}
      />
      <TextField
        label="TLS client certificates"
        value={draft.certificates}
        onValue={(certificates) => onChange({ certificates })}
        placeholder="sha256:3f9a…"
        help="SHA-256 fingerprints, separated by spaces or commas. Empty: none is needed."
        error={errors.client_certs}
      />
      <TextField
        label="Owner"
        value={draft.owner}
        onValue={(owner) => onChange({ owner })}
        placeholder="Payments team"
        help="The team that answers for the key."
        error={errors.owner}
        maxLength={80}
      />
      <TextField
        label="Note"
        value={draft.note}
        onValue={(note) => onChange({ note })}
        error={errors.note}
        maxLength={500}
      />
    </div>
  )
}

const MATCHES = [
  { value: '', text: 'None' },
  { value: 'name', text: 'Name' },
  { value: 'dob', text: 'Date of birth' },
  { value: 'both', text: 'Name and date of birth' },
]

/** What a verification with the key must give, and how it is answered. */
function Behaviour({ draft, onChange, errors }: SectionProps) {
  return (
    <div class="grid">
      <SelectField
        label="Details that must match"
        value={draft.match}
        onValue={(match) => onChange({ match })}
        options={MATCHES}
        help="Each verification must give them. A person whose details differ is not verified."
        error={errors.require_match}
      />
      <div class="field">
        <Checkbox
          label="Require a consent reference"
          isOn={draft.isConsentRequired}
          onChange={(isConsentRequired) => onChange({ isConsentRequired })}
        />
        <Checkbox
          label="Answer 202 (pending) while no source can answer"
          isOn={draft.isAsyncWhenDown}
          onChange={(isAsyncWhenDown) => onChange({ isAsyncWhenDown })}
        />
      </div>
    </div>
  )
}
