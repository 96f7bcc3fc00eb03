import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type {
  ChangeKeyRequest,
  CreatedKey,
  CreateKeyRequest,
  KeyOptionField,
  Keys,
  KeyWithUsage,
} from '../../../../src/admin/keys.ts'
import { REVOKED_WITHIN } from '../../../../src/contract/revocation.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { Choices } from '../../components/choices.tsx'
import { FormDialog } from '../../components/dialog.tsx'
import { Checkbox, NameField, Segments, SelectField, TextField, toList } from '../../components/field.tsx'
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
      <OptionFields {...section} isNew={initial.expiry !== AS_BEFORE} />
      <FieldPolicy
        groups={keys.field_groups}
        policy={toPolicy(draft)}
        onPolicy={(policy) => change({ options: { ...draft.options, ...policy } })}
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

/** A field for each option but the field policy. */
function OptionFields({ keys, draft, onChange, errors, isNew }: SectionProps & { isNew: boolean }) {
  const toInputs = (...kinds: readonly KeyOptionField['kind'][]) =>
    keys.options
      .filter(({ kind }) => kinds.includes(kind))
      .map((option) => (
        <OptionInput
          key={option.field}
          option={option}
          value={draft.options[option.field] ?? ''}
          onValue={(value) => onChange({ options: { ...draft.options, [option.field]: value } })}
          error={errors[option.field]}
        />
      ))
  return (
    <>
      <div class="grid">
        <SelectField
          label="Expires"
          value={draft.expiry}
          onValue={(expiry) => onChange({ expiry })}
          options={isNew ? EXPIRIES : [{ value: AS_BEFORE, text: 'As before' }, ...EXPIRIES]}
          error={errors.expires_in}
        />
        {toInputs('list', 'count', 'text')}
      </div>
      <div class="grid">
        {toInputs('choice')}
        <div class="field">{toInputs('switch')}</div>
      </div>
    </>
  )
}

type OptionInputProps = {
  readonly option: KeyOptionField
  readonly value: OptionDraft
  readonly onValue: (value: OptionDraft) => void
  readonly error: string | undefined
}

function OptionInput({ option, value, onValue, error }: OptionInputProps) {
  const { kind, label, help, example, choices, max_length } = option
  if (kind === 'switch') return <Checkbox label={label} isOn={value === true} onChange={onValue} />
  const common = { label, help, value: String(value), onValue, error }
  if (kind === 'choice')
    return <SelectField {...common} options={[{ value: '', text: 'None' }, ...choices]} />
  return (
    <TextField
      {...common}
      placeholder={example ?? option.default?.toString() ?? ''}
      {...(kind === 'count' && { inputMode: 'numeric', pattern: '[0-9]{1,9}' })}
      {...(max_length !== null && { maxLength: max_length })}
    />
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
    onCreated(await api.post<CreatedKey>('/admin/keys', toCreateRequest(keys, draft))),
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
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/change`, toChangeRequest(keys, before, draft))
    onDone()
  })
  const common = { keys, onClose, mutation, title: 'Change this key', verb: 'Save changes' }
  return (
    <KeyForm {...common} initial={before}>
      {() => (
        <p class="dim">
          The secret stays the same. It takes effect {REVOKED_WITHIN}. The audit log gets the values before
          and after.
        </p>
      )}
    </KeyForm>
  )
}

type KeyRequest = Static<typeof CreateKeyRequest>
type ChangeRequest = Static<typeof ChangeKeyRequest>

/** In a change: the expiry stays as it is. */
const AS_BEFORE = 'unchanged'

/** A text, except for a switch and for a list of fields. */
type OptionDraft = string | boolean | readonly string[]

/** The state of the form. */
type KeyDraft = {
  readonly name: string
  readonly mode: KeyRequest['mode']
  readonly scopes: KeyRequest['scopes']
  readonly expiry: string
  readonly options: Readonly<Record<string, OptionDraft>>
}

const toNewDraft = (keys: Keys): KeyDraft => ({
  name: '',
  mode: 'test',
  scopes: [...keys.scopes],
  expiry: '',
  options: toOptionDrafts(keys, {}),
})

const toDraft = (keys: Keys, row: KeyWithUsage): KeyDraft => ({
  name: row.name,
  mode: row.mode,
  scopes: row.scopes,
  expiry: AS_BEFORE,
  options: toOptionDrafts(keys, row),
})

const toPolicy = ({ options: { hide, reveal } }: KeyDraft) => ({ hide, reveal }) as Policy

const toOptionDrafts = (keys: Keys, row: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    keys.options.map((option) => [option.field, toOptionDraft(keys, option, row[option.field])]),
  )

function toOptionDraft(keys: Keys, option: KeyOptionField, value: unknown): OptionDraft {
  if (option.kind === 'fields') return toFields(keys, (value ?? []) as string[])
  if (option.kind === 'switch') return value === true
  if (Array.isArray(value)) return value.join(', ')
  return value === option.default || value === null || value === undefined ? '' : String(value)
}

/** A word of the command line may stand for a group of fields. The form has single fields. */
const toFields = ({ field_groups }: Keys, words: readonly string[]): string[] =>
  field_groups
    .flatMap(({ fields }) => fields.map(({ name }) => name))
    .filter((name) =>
      words.some((word) => name === word || name.startsWith(`${word}.`) || name.endsWith(`.${word}`)),
    )

/** As the admin API takes it. Null removes the option. */
function toOptionValue({ kind }: KeyOptionField, draft: OptionDraft): unknown {
  if (typeof draft !== 'string') return draft
  if (kind === 'list') return toList(draft)
  const text = draft.trim()
  if (text === '') return null
  return kind === 'count' ? Number(text) : text
}

/** Only what differs from the draft before, so that two changes of different options do not undo each other. */
const toChangedOptions = ({ options }: Keys, before: KeyDraft, draft: KeyDraft): Partial<KeyRequest> =>
  Object.fromEntries(
    options
      .filter(({ field }) => isChanged(before.options[field], draft.options[field]))
      .map((option) => [option.field, toOptionValue(option, draft.options[option.field] ?? '')]),
  )

const isChanged = (before: unknown, after: unknown) => JSON.stringify(before) !== JSON.stringify(after)

const toCreateRequest = (keys: Keys, draft: KeyDraft): KeyRequest => ({
  name: draft.name.trim(),
  mode: draft.mode,
  scopes: draft.scopes,
  ...(draft.expiry !== '' && { expires_in: draft.expiry }),
  ...toChangedOptions(keys, toNewDraft(keys), draft),
})

const toChangeRequest = (keys: Keys, before: KeyDraft, draft: KeyDraft): ChangeRequest => ({
  ...(draft.name !== before.name && { name: draft.name.trim() }),
  ...(isChanged(before.scopes, draft.scopes) && { scopes: draft.scopes }),
  ...(draft.expiry !== AS_BEFORE && { expires_in: draft.expiry || null }),
  ...toChangedOptions(keys, before, draft),
})
