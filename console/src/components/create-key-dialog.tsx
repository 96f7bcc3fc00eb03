import { useState } from 'preact/hooks'
import type { CreatedKey, CreateKeyRequest, Keys } from '../../../src/admin/shapes/keys.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useAppContext } from '../app-context.ts'
import { useMutation } from '../use-mutation.ts'
import { Dialog, SubmitButton } from './dialog.tsx'
import { ErrorNote } from './error-note.tsx'
import { Checkbox, Segments, SelectField, TextField } from './field.tsx'
import { FieldPolicy, type Policy } from './field-policy.tsx'

type KeyRequest = Static<typeof CreateKeyRequest>

const MODES = [
  { value: 'test', text: 'Test' },
  { value: 'live', text: 'Live' },
] as const

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

/** The state of the form. */
type Draft = {
  readonly name: string
  readonly mode: KeyRequest['mode']
  readonly scopes: KeyRequest['scopes']
  readonly expiry: string
  readonly addresses: string
  readonly certificates: string
  readonly cap: string
  readonly isConsentRequired: boolean
  readonly policy: Policy
}

function toRequest(draft: Draft): KeyRequest {
  const toList = (text: string) => text.split(/[\s,]+/).filter((part) => part !== '')
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
  }
}

type CreateKeyProps = {
  readonly keys: Keys
  readonly onClose: () => void
  readonly onCreated: (created: CreatedKey) => void
}

export function CreateKeyDialog({ keys, onClose, onCreated }: CreateKeyProps) {
  const { api } = useAppContext()
  const [draft, setDraft] = useState<Draft>({
    name: '',
    mode: 'test',
    scopes: [...keys.scopes],
    expiry: '',
    addresses: '',
    certificates: '',
    cap: '',
    isConsentRequired: false,
    policy: { hide: [], reveal: [] },
  })
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const create = useMutation(async () =>
    onCreated(await api.post<CreatedKey>('/admin/keys', toRequest(draft))),
  )
  const { fields = {} } = create.error ?? {}
  return (
    <Dialog title="Create a key" onClose={onClose} isWide>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <TextField
          label="Name"
          value={draft.name}
          onValue={(name) => change({ name })}
          placeholder="Loans app, production"
          help="The program and purpose. Use one key per purpose."
          error={fields.name}
          maxLength={80}
          required
        />
        <div class="bar">
          <Segments legend="Mode" value={draft.mode} options={MODES} onValue={(mode) => change({ mode })} />
          <small class="dim">
            {draft.mode === 'test'
              ? 'Returns synthetic people. No vendor is called, nothing is billed.'
              : 'Calls your sources about real people. Calls may be billed.'}
          </small>
        </div>
        <Scopes keys={keys} draft={draft} onChange={change} />
        <Limits keys={keys} draft={draft} onChange={change} errors={fields} />
        <FieldPolicy
          groups={keys.field_groups}
          policy={draft.policy}
          onPolicy={(policy) => change({ policy })}
        />
        <ErrorNote error={create.error} />
        <footer>
          <button type="button" class="plain" onClick={onClose}>
            Cancel
          </button>
          <SubmitButton
            isBusy={create.isBusy}
            isDisabled={draft.name.trim() === '' || draft.scopes.length === 0}
          >
            Create key
          </SubmitButton>
        </footer>
      </form>
    </Dialog>
  )
}

type SectionProps = {
  readonly keys: Keys
  readonly draft: Draft
  readonly onChange: (part: Partial<Draft>) => void
}

function Scopes({ keys, draft, onChange }: SectionProps) {
  const toggle = (scope: KeyRequest['scopes'][number], isOn: boolean) =>
    onChange({ scopes: keys.scopes.filter((one) => (one === scope ? isOn : draft.scopes.includes(one))) })
  return (
    <fieldset>
      <legend>Scopes</legend>
      {keys.scopes.map((scope) => (
        <Checkbox
          key={scope}
          label={
            <>
              {SCOPE_LABELS[scope] ?? scope} <code>{scope}</code>
            </>
          }
          isOn={draft.scopes.includes(scope)}
          onChange={(isOn) => toggle(scope, isOn)}
        />
      ))}
    </fieldset>
  )
}

function Limits({
  keys,
  draft,
  onChange,
  errors,
}: SectionProps & { errors: Readonly<Record<string, string>> }) {
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
        label="Distinct people per day, at most"
        value={draft.cap}
        onValue={(cap) => onChange({ cap })}
        placeholder={String(keys.subjects_per_day_default)}
        inputMode="numeric"
        pattern="[0-9]{1,9}"
        error={errors.subjects_per_day}
      />
      <TextField
        label="Allowed IP addresses"
        value={draft.addresses}
        onValue={(addresses) => onChange({ addresses })}
        placeholder="203.0.113.7, 10.0.0.0/8"
        help="Separated by spaces or commas. Empty: any address."
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
      <div class="field">
        <Checkbox
          label="Require a consent reference"
          isOn={draft.isConsentRequired}
          onChange={(isConsentRequired) => onChange({ isConsentRequired })}
        />
      </div>
    </div>
  )
}
