import { useState } from 'preact/hooks'
import type {
  AdminToken,
  AdminTokens,
  CreatedToken,
  CreateTokenRequest,
} from '../../../../src/admin/tokens.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { rethrowPasswordError } from '../../api-client.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm, FormDialog } from '../../components/dialog.tsx'
import { NameField, SelectField, TextField, toList } from '../../components/field.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { Panel } from '../../components/panel.tsx'
import { PasswordField } from '../../components/password-field.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toGuide } from '../../guide.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

const STATES = { active: 'active', revoked: 'revoked', expired: 'expired' } as const

type Open =
  | { readonly what: 'new' }
  | { readonly what: 'token'; readonly token: string }
  | { readonly what: 'revoke'; readonly row: AdminToken }

/** Tokens of the admin API, for owners. */
export function Tokens() {
  const query = useQuery<AdminTokens>('/admin/tokens')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const created = ({ token }: CreatedToken) => {
    setOpen({ what: 'token', token })
    query.reload()
  }
  const revoked = () => {
    close()
    query.reload()
  }
  return (
    <>
      <p class="dim">
        Scripts send a token to the admin API instead of signing in. A token may not do what needs a password,
        and may not change accounts or tokens.{' '}
        <GuideLink to={toGuide('admin-api')}>More about the admin API</GuideLink>
      </p>
      <Panel
        title="Tokens"
        aside={
          <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
            Create token
          </button>
        }
      >
        <QueryResult query={query}>
          {({ tokens }) => <TokenList rows={tokens} onRevoke={(row) => setOpen({ what: 'revoke', row })} />}
        </QueryResult>
      </Panel>
      {open?.what === 'new' && <CreateTokenDialog onClose={close} onCreated={created} />}
      {open?.what === 'token' && (
        <ShownOnce title="New token" what="the token" text={open.token} onClose={close}>
          Copy the token now, and store it as a secret. It is not shown again.
        </ShownOnce>
      )}
      {open?.what === 'revoke' && <RevokeTokenDialog row={open.row} onClose={close} onDone={revoked} />}
    </>
  )
}

const TONES = { active: 'good', revoked: 'bad', expired: 'dim' } as const

type ListProps = { readonly rows: readonly AdminToken[]; readonly onRevoke: (row: AdminToken) => void }

function TokenList({ rows, onRevoke }: ListProps) {
  if (rows.length === 0)
    return (
      <Empty>
        <p>There are no tokens yet.</p>
      </Empty>
    )
  return (
    <Table
      label="Tokens"
      file="tokens"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          cell: ({ name, id }) => (
            <>
              <b class="breaks">{name}</b> <code>{id}</code>
            </>
          ),
          exported: { Name: ({ name }) => name, Id: ({ id }) => id },
        },
        {
          title: 'Role',
          cell: ({ role }) => <Pill tone={role === 'owner' ? 'live' : 'dim'}>{role}</Pill>,
        },
        { title: 'State', cell: ({ state }) => <Pill tone={TONES[state]}>{STATES[state]}</Pill> },
        { title: 'Allowed IP addresses', cell: ({ allowed_ips }) => allowed_ips?.join(', ') ?? 'any' },
        { title: 'Created by', cell: ({ made_by }) => made_by },
        { title: 'Expires', cell: ({ expires_at }) => <When at={expires_at} /> },
        {
          title: 'Last used',
          cell: ({ last_used_at }) => <When at={last_used_at} otherwise="never" />,
        },
        {
          title: '',
          cell: (row) =>
            row.state === 'active' && (
              <span class="actions">
                <button
                  type="button"
                  class="small"
                  aria-label={`Revoke ${row.name}`}
                  onClick={() => onRevoke(row)}
                >
                  Revoke
                </button>
              </span>
            ),
        },
      ]}
    />
  )
}

type TokenRequest = Static<typeof CreateTokenRequest>

const ROLES = [
  { value: 'viewer', text: 'Viewer: reads, changes nothing' },
  { value: 'operator', text: 'Operator: also changes keys, catalogue and sources' },
  { value: 'owner', text: 'Owner: also creates keys that reveal hidden fields' },
] as const
const EXPIRIES = [
  { value: '7d', text: 'In 7 days' },
  { value: '30d', text: 'In 30 days' },
  { value: '90d', text: 'In 90 days' },
  { value: '1y', text: 'In a year' },
] as const

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

function CreateTokenDialog({ onClose, onCreated }: CreateProps) {
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
      title="Create a token"
      verb="Create token"
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
        label="Name"
        value={draft.name}
        onValue={(name) => onChange({ name })}
        example="Grafana"
        help="The program and purpose. Use one token per purpose."
        error={errors.name}
      />
      <SelectField
        label="Role"
        value={draft.role}
        onValue={(role) => onChange({ role: role as Draft['role'] })}
        options={ROLES}
        help="The same rights as an account with this role, except what needs a password."
      />
      <SelectField
        label="Expires"
        value={draft.expiry}
        onValue={(expiry) => onChange({ expiry })}
        options={EXPIRIES}
        error={errors.expires_in}
      />
      <TextField
        label="Allowed IP addresses"
        value={draft.addresses}
        onValue={(addresses) => onChange({ addresses })}
        placeholder="203.0.113.7, 10.0.0.0/8"
        help="Separated by spaces or commas. Empty: any address."
        error={errors.allowed_ips}
      />
    </>
  )
}

type RevokeProps = { readonly row: AdminToken; readonly onClose: () => void; readonly onDone: () => void }

function RevokeTokenDialog({ row, onClose, onDone }: RevokeProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/tokens/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  return (
    <Confirm title={`Revoke ${row.name}?`} verb="Revoke" mutation={mutation} onClose={onClose} isDanger>
      <p>It stops with its next request. A revoked token cannot be restored.</p>
    </Confirm>
  )
}
