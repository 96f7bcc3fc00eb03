import { useState } from 'preact/hooks'
import type { CreatedKey, CreateKeyRequest, Keys } from '../../../src/admin/shapes/keys.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { Dialog, SubmitButton } from './dialog.tsx'
import { Checkbox, Segments, SelectField, TextField } from './field.tsx'
import { FieldPolicy, type Policy } from './field-policy.tsx'
import { ErrorNote } from './states.tsx'

type Wish = Static<typeof CreateKeyRequest>

const MODES = [
  { value: 'test', text: 'Test' },
  { value: 'live', text: 'Live' },
] as const

const SCOPE_WORDS: Readonly<Record<string, string>> = {
  'kyc:nin': 'Verify NINs',
  'kyc:bvn': 'Verify BVNs',
  'catalogue:read': 'Read the lists of bundles',
}

const EXPIRIES = [
  { value: '', text: 'Never' },
  { value: '24h', text: 'In 24 hours' },
  { value: '30d', text: 'In 30 days' },
  { value: '90d', text: 'In 90 days' },
  { value: '1y', text: 'In a year' },
]

/** The form as it is typed; the wish is made from it. */
type Draft = {
  readonly name: string
  readonly mode: Wish['mode']
  readonly scopes: Wish['scopes']
  readonly expiry: string
  readonly addresses: string
  readonly cap: string
  readonly isConsentRequired: boolean
  readonly policy: Policy
}

function toRequest(draft: Draft): Wish {
  const addresses = draft.addresses.split(/[\s,]+/).filter((address) => address !== '')
  const { hide, reveal } = draft.policy
  return {
    name: draft.name.trim(),
    mode: draft.mode,
    scopes: draft.scopes,
    ...(draft.expiry === '' ? {} : { expires_in: draft.expiry }),
    ...(addresses.length === 0 ? {} : { allowed_ips: addresses }),
    ...(hide.length === 0 ? {} : { hide: [...hide] }),
    ...(reveal.length === 0 ? {} : { reveal: [...reveal] }),
    ...(draft.cap.trim() === '' ? {} : { subjects_per_day: Number(draft.cap) }),
    ...(draft.isConsentRequired ? { requires_consent: true } : {}),
  }
}

type NewKeyProps = {
  readonly keys: Keys
  readonly onClose: () => void
  readonly onMade: (made: CreatedKey) => void
}

export function NewKey({ keys, onClose, onMade }: NewKeyProps) {
  const { api } = useAppContext()
  const [draft, setDraft] = useState<Draft>({
    name: '',
    mode: 'test',
    scopes: [...keys.scopes],
    expiry: '',
    addresses: '',
    cap: '',
    isConsentRequired: false,
    policy: { hide: [], reveal: [] },
  })
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const make = useMutation(async () => onMade(await api.post<CreatedKey>('/admin/keys', toRequest(draft))))
  const { fields = {} } = make.error ?? {}
  return (
    <Dialog title="Create a key" onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          make.run()
        }}
      >
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => change({ name })}
          placeholder="Loans app, production"
          help="What it is for: one purpose, one key."
          error={fields.name}
          maxLength={80}
          required
        />
        <div class="bar">
          <Segments legend="Mode" value={draft.mode} options={MODES} onValue={(mode) => change({ mode })} />
          <small class="dim">
            {draft.mode === 'test'
              ? 'Answers with people who do not exist. Nobody is asked, nothing is billed.'
              : 'Asks your sources about real people. Calls may be billed.'}
          </small>
        </div>
        <Scopes keys={keys} draft={draft} onChange={change} />
        <Limits keys={keys} draft={draft} onChange={change} errors={fields} />
        <FieldPolicy
          groups={keys.field_groups}
          policy={draft.policy}
          onPolicy={(policy) => change({ policy })}
        />
        <ErrorNote error={make.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton
            isBusy={make.isBusy}
            isDisabled={draft.name.trim() === '' || draft.scopes.length === 0}
          >
            Create key
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
  )
}

type PartProps = {
  readonly keys: Keys
  readonly draft: Draft
  readonly onChange: (part: Partial<Draft>) => void
}

function Scopes({ keys, draft, onChange }: PartProps) {
  const turn = (scope: Wish['scopes'][number], isOn: boolean) =>
    onChange({ scopes: keys.scopes.filter((one) => (one === scope ? isOn : draft.scopes.includes(one))) })
  return (
    <fieldset>
      <legend>It may</legend>
      {keys.scopes.map((scope) => (
        <Checkbox
          key={scope}
          label={
            <>
              {SCOPE_WORDS[scope] ?? scope} <code>{scope}</code>
            </>
          }
          isOn={draft.scopes.includes(scope)}
          onChange={(isOn) => turn(scope, isOn)}
        />
      ))}
    </fieldset>
  )
}

function Limits({ keys, draft, onChange, errors }: PartProps & { errors: Readonly<Record<string, string>> }) {
  return (
    <div class="grid">
      <SelectField
        label="Expires"
        value={draft.expiry}
        onValue={(expiry) => onChange({ expiry })}
        options={EXPIRIES}
        error={errors.expires_in}
      />
      <TextField
        label="Different people a day, at most"
        value={draft.cap}
        onValue={(cap) => onChange({ cap })}
        placeholder={String(keys.subjects_per_day_default)}
        inputMode="numeric"
        pattern="[0-9]{1,9}"
        error={errors.subjects_per_day}
      />
      <TextField
        label="Only from these addresses"
        value={draft.addresses}
        onValue={(addresses) => onChange({ addresses })}
        placeholder="203.0.113.7, 10.0.0.0/8"
        help="Separated by spaces or commas. Empty: from anywhere."
        error={errors.allowed_ips}
      />
      <div class="field">
        <Checkbox
          label="Refuse calls without a consent reference"
          isOn={draft.isConsentRequired}
          onChange={(isConsentRequired) => onChange({ isConsentRequired })}
        />
      </div>
    </div>
  )
}
