import { useState } from 'preact/hooks'
import type { AdminToken, CreatedToken, CreateTokenRequest } from '../../../src/admin/shapes/tokens.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { rethrowPasswordError } from '../api-client.ts'
import { useAppContext } from '../app-context.ts'
import { tokensTexts as texts } from '../texts/en/tokens.ts'
import { useMutation } from '../use-mutation.ts'
import { AddressesField, NameField, toList } from './access-fields.tsx'
import { Confirm, FormDialog } from './dialog.tsx'
import { SelectField } from './field.tsx'
import { PasswordField } from './password-field.tsx'

type TokenRequest = Static<typeof CreateTokenRequest>

const ROLES = (['viewer', 'operator', 'owner'] as const).map((value) => ({ value, text: texts.roles[value] }))
const EXPIRIES = (['7d', '30d', '90d', '1y'] as const).map((value) => ({
  value,
  text: texts.lifetimes[value],
}))

type Draft = {
  readonly name: string
  readonly role: TokenRequest['role']
  readonly expiry: string
  readonly addresses: string
  readonly password: string
}

function toRequest({ name, role, expiry, addresses, password }: Draft, hasPassword: boolean): TokenRequest {
  const list = toList(addresses)
  return {
    name: name.trim(),
    role,
    expires_in: expiry,
    ...(hasPassword && { password }),
    ...(list.length === 0 ? {} : { allowed_ips: list }),
  }
}

type CreateProps = { readonly onClose: () => void; readonly onCreated: (created: CreatedToken) => void }

export function CreateTokenDialog({ onClose, onCreated }: CreateProps) {
  const { api, session } = useAppContext()
  const [draft, setDraft] = useState<Draft>({
    name: '',
    role: 'viewer',
    expiry: '90d',
    addresses: '',
    password: '',
  })
  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }))
  const create = useMutation(async () =>
    onCreated(
      await api
        .post<CreatedToken>('/admin/tokens', toRequest(draft, session.has_password))
        .catch(rethrowPasswordError),
    ),
  )
  const { fields = {} } = create.error ?? {}
  return (
    <FormDialog
      title={texts.createTitle}
      verb={texts.create}
      mutation={create}
      onSubmit={create.run}
      onClose={onClose}
      isReady={draft.name.trim() !== '' && (!session.has_password || draft.password !== '')}
    >
      <TokenFields draft={draft} onChange={change} errors={fields} />
      <PasswordField
        value={draft.password}
        onValue={(password) => change({ password })}
        error={fields.password}
      />
    </FormDialog>
  )
}

type FieldsProps = {
  readonly draft: Draft
  readonly onChange: (part: Partial<Draft>) => void
  readonly errors: Readonly<Record<string, string>>
}

function TokenFields({ draft, onChange, errors }: FieldsProps) {
  return (
    <>
      <NameField
        label={texts.name}
        value={draft.name}
        onValue={(name) => onChange({ name })}
        example={texts.nameExample}
        help={texts.nameHelp}
        error={errors.name}
      />
      <SelectField
        label={texts.role}
        value={draft.role}
        onValue={(role) => onChange({ role: role as Draft['role'] })}
        options={ROLES}
        help={texts.roleHelp}
      />
      <SelectField
        label={texts.expires}
        value={draft.expiry}
        onValue={(expiry) => onChange({ expiry })}
        options={EXPIRIES}
        error={errors.expires_in}
      />
      <AddressesField
        value={draft.addresses}
        onValue={(addresses) => onChange({ addresses })}
        error={errors.allowed_ips}
      />
    </>
  )
}

type RevokeProps = { readonly row: AdminToken; readonly onClose: () => void; readonly onDone: () => void }

export function RevokeTokenDialog({ row, onClose, onDone }: RevokeProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/tokens/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  return (
    <Confirm
      title={texts.toRevokeTitle(row.name)}
      verb={texts.revoke}
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>{texts.revokeNote}</p>
    </Confirm>
  )
}
