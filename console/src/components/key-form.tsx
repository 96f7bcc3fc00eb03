import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Keys } from '../../../src/admin/shapes/keys.ts'
import { keyFormTexts as texts } from '../texts/en/key-form.ts'
import type { Mutation } from '../use-mutation.ts'
import { AddressesField, NameField } from './access-fields.tsx'
import { Choices } from './choices.tsx'
import { FormDialog } from './dialog.tsx'
import { Checkbox, SelectField, TextField } from './field.tsx'
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
        label={texts.name}
        value={draft.name}
        onValue={(name) => change({ name })}
        example={texts.nameExample}
        help={texts.nameHelp}
        error={fields.name}
      />
      {children(draft, change)}
      <Choices
        legend={texts.scopes}
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
  'kyc:nin': texts.verifyNins,
  'kyc:bvn': texts.verifyBvns,
  'catalogue:read': texts.readLists,
}

const EXPIRIES = [
  { value: '', text: texts.never },
  { value: '24h', text: texts.in24Hours },
  { value: '30d', text: texts.in30Days },
  { value: '90d', text: texts.in90Days },
  { value: '1y', text: texts.in1Year },
]

function Limits({ keys, draft, onChange, errors, isNew }: SectionProps & { isNew: boolean }) {
  return (
    <div class="grid">
      <SelectField
        label={texts.expires}
        value={draft.expiry}
        onValue={(expiry) => onChange({ expiry })}
        options={isNew ? EXPIRIES : [{ value: AS_BEFORE, text: texts.asBefore }, ...EXPIRIES]}
        error={errors.expires_in}
      />
      <TextField
        label={texts.people}
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
        label={texts.certificates}
        value={draft.certificates}
        onValue={(certificates) => onChange({ certificates })}
        placeholder="sha256:3f9a…"
        help={texts.certificatesHelp}
        error={errors.client_certs}
      />
      <TextField
        label={texts.owner}
        value={draft.owner}
        onValue={(owner) => onChange({ owner })}
        placeholder={texts.ownerExample}
        help={texts.ownerHelp}
        error={errors.owner}
        maxLength={80}
      />
      <TextField
        label={texts.note}
        value={draft.note}
        onValue={(note) => onChange({ note })}
        error={errors.note}
        maxLength={500}
      />
    </div>
  )
}

const MATCHES = [
  { value: '', text: texts.matchNone },
  { value: 'name', text: texts.matchName },
  { value: 'dob', text: texts.matchBirth },
  { value: 'both', text: texts.matchBoth },
]

/** What a verification with the key must give, and how it is answered. */
function Behaviour({ draft, onChange, errors }: SectionProps) {
  return (
    <div class="grid">
      <SelectField
        label={texts.requireMatch}
        value={draft.match}
        onValue={(match) => onChange({ match })}
        options={MATCHES}
        help={texts.requireMatchHelp}
        error={errors.require_match}
      />
      <div class="field">
        <Checkbox
          label={texts.consent}
          isOn={draft.isConsentRequired}
          onChange={(isConsentRequired) => onChange({ isConsentRequired })}
        />
        <Checkbox
          label={texts.asyncWhenDown}
          isOn={draft.isAsyncWhenDown}
          onChange={(isAsyncWhenDown) => onChange({ isAsyncWhenDown })}
        />
      </div>
    </div>
  )
}
