import { useState } from 'preact/hooks'
import type { AdminToken, AdminTokens, CreatedToken } from '../../../../src/admin/tokens.ts'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { useQuery } from '../../use-query.ts'
import { CreateTokenDialog, RevokeTokenDialog } from './token-dialogs.tsx'

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
        and may not change accounts or tokens. See docs/admin-api.md.
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
