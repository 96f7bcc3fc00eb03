import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type {
  ChangeKeyRequest,
  CreatedKey,
  CreateKeyRequest,
  Keys,
  KeyWithUsage,
} from '../../../../src/admin/keys.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { AddressesField, NameField, toList } from '../../components/access-fields.tsx'
import { Choices } from '../../components/choices.tsx'
import { FormDialog } from '../../components/dialog.tsx'
import { Checkbox, Segments, SelectField, TextField } from '../../components/field.tsx'
import { type Mutation, useMutation } from '../../use-mutation.ts'
import { FieldPolicy, type Policy } from './field-policy.tsx'

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
function KeyForm({ keys, initial, title, verb, mutation, onClose, children }: FormProps) {
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

const MODES = [
  { value: 'test', text: 'Test' },
  { value: 'live', text: 'Live' },
] as const

type CreateKeyProps = {
  readonly keys: Keys
  readonly onClose: () => void
  readonly onCreated: (created: CreatedKey) => void
}

export function CreateKeyDialog({ keys, onClose, onCreated }: CreateKeyProps) {
  const { api } = useAppContext()
  const create = useMutation(async (draft: KeyDraft) =>
    onCreated(await api.post<CreatedKey>('/admin/keys', toCreateRequest(draft))),
  )
  const common = { keys, onClose, mutation: create, title: 'Create a key', verb: 'Create key' }
  return (
    <KeyForm {...common} initial={toNewDraft(keys)}>
      {(draft, change) => (
        <div class="bar">
          <Segments legend="Mode" value={draft.mode} options={MODES} onValue={(mode) => change({ mode })} />
          <small class="dim">
            {draft.mode === 'test'
              ? 'Returns synthetic people. No vendor is called, nothing is billed.'
              : 'Calls your sources about real people. Calls may be billed.'}
          </small>
        </div>
      )}
    </KeyForm>
  )
}

type ChangeKeyProps = {
  readonly keys: Keys
  readonly row: KeyWithUsage
  readonly onClose: () => void
  readonly onDone: () => void
}

export function ChangeKeyDialog({ keys, row, onClose, onDone }: ChangeKeyProps) {
  const { api } = useAppContext()
  const before = toDraft(keys, row)
  const mutation = useMutation(async (draft: KeyDraft) => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/change`, toChangeRequest(before, draft))
    onDone()
  })
  const common = { keys, onClose, mutation, title: 'Change this key', verb: 'Save changes' }
  return (
    <KeyForm {...common} initial={before}>
      {() => (
        <p class="dim">
          The secret stays the same. Servers follow within 5 seconds. The audit log gets the values before and
          after.
        </p>
      )}
    </KeyForm>
  )
}

type KeyRequest = Static<typeof CreateKeyRequest>
type ChangeRequest = Static<typeof ChangeKeyRequest>

/** In a change: the expiry stays as it is. */
const AS_BEFORE = 'unchanged'

/** The state of the form. */
type KeyDraft = {
  readonly name: string
  readonly mode: KeyRequest['mode']
  readonly scopes: KeyRequest['scopes']
  readonly expiry: string
  readonly addresses: string
  readonly certificates: string
  readonly cap: string
  readonly isConsentRequired: boolean
  readonly isAsyncWhenDown: boolean
  readonly match: string
  readonly owner: string
  readonly note: string
  readonly policy: Policy
}

const toNewDraft = (keys: Keys): KeyDraft => ({
  name: '',
  mode: 'test',
  scopes: [...keys.scopes],
  expiry: '',
  addresses: '',
  certificates: '',
  cap: '',
  isConsentRequired: false,
  isAsyncWhenDown: false,
  match: '',
  owner: '',
  note: '',
  policy: { hide: [], reveal: [] },
})

const toDraft = (keys: Keys, row: KeyWithUsage): KeyDraft => ({
  name: row.name,
  mode: row.mode,
  scopes: row.scopes,
  expiry: AS_BEFORE,
  addresses: row.allowed_ips?.join(', ') ?? '',
  certificates: row.client_certs?.join(', ') ?? '',
  cap: row.subjects_per_day === keys.subjects_per_day_default ? '' : String(row.subjects_per_day),
  isConsentRequired: row.requires_consent,
  isAsyncWhenDown: row.async_when_down,
  match: row.require_match ?? '',
  owner: row.owner ?? '',
  note: row.note ?? '',
  policy: { hide: toFields(keys, row.hide), reveal: toFields(keys, row.reveal) },
})

/** A word of the command line may stand for a group of fields. The form has single fields. */
const toFields = ({ field_groups }: Keys, words: readonly string[]): string[] =>
  field_groups
    .flatMap(({ fields }) => fields.map(({ name }) => name))
    .filter((name) =>
      words.some((word) => name === word || name.startsWith(`${word}.`) || name.endsWith(`.${word}`)),
    )

function toCreateRequest(draft: KeyDraft): KeyRequest {
  const [addresses, certificates] = [toList(draft.addresses), toList(draft.certificates)]
  const { hide, reveal } = draft.policy
  return {
    name: draft.name.trim(),
    mode: draft.mode,
    scopes: draft.scopes,
    ...(draft.expiry === '' ? {} : { expires_in: draft.expiry }),
    ...(addresses.length === 0 ? {} : { allowed_ips: addresses }),
    ...(certificates.length === 0 ? {} : { client_certs: certificates }),
    ...(hide.length === 0 ? {} : { hide: [...hide] }),
    ...(reveal.length === 0 ? {} : { reveal: [...reveal] }),
    ...(draft.cap.trim() === '' ? {} : { subjects_per_day: Number(draft.cap) }),
    ...(draft.isConsentRequired ? { requires_consent: true } : {}),
    ...(draft.isAsyncWhenDown ? { async_when_down: true } : {}),
    ...(draft.match === '' ? {} : { require_match: draft.match as NonNullable<KeyRequest['require_match']> }),
    ...(draft.owner.trim() === '' ? {} : { owner: draft.owner.trim() }),
    ...(draft.note.trim() === '' ? {} : { note: draft.note.trim() }),
  }
}

/** Only what differs from the draft before, so that two changes of different options do not undo each other. */
function toChangeRequest(before: KeyDraft, draft: KeyDraft): ChangeRequest {
  const whole: { [Name in keyof ChangeRequest]-?: readonly [keyof KeyDraft, ChangeRequest[Name]] } = {
    name: ['name', draft.name.trim()],
    scopes: ['scopes', draft.scopes],
    expires_in: ['expiry', draft.expiry === '' ? null : draft.expiry],
    allowed_ips: ['addresses', toList(draft.addresses)],
    client_certs: ['certificates', toList(draft.certificates)],
    hide: ['policy', [...draft.policy.hide]],
    reveal: ['policy', [...draft.policy.reveal]],
    subjects_per_day: ['cap', draft.cap.trim() === '' ? null : Number(draft.cap)],
    requires_consent: ['isConsentRequired', draft.isConsentRequired],
    async_when_down: ['isAsyncWhenDown', draft.isAsyncWhenDown],
    require_match: ['match', (draft.match || null) as ChangeRequest['require_match']],
    owner: ['owner', draft.owner],
    note: ['note', draft.note],
  }
  const isChanged = (name: keyof KeyDraft) => JSON.stringify(before[name]) !== JSON.stringify(draft[name])
  const changed = Object.entries(whole).filter(([, [name]]) => isChanged(name))
  return Object.fromEntries(changed.map(([field, [, value]]) => [field, value])) as ChangeRequest
}
