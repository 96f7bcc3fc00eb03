import { useState } from 'preact/hooks'
import type { AdminToken, AdminTokens, CreatedToken } from '../../../src/admin/shapes/tokens.ts'
import { Panel } from '../components/panel.tsx'
import { Pill } from '../components/pill.tsx'
import { Empty, QueryResult } from '../components/query-result.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { Table } from '../components/table.tsx'
import { CreateTokenDialog, RevokeTokenDialog } from '../components/token-dialogs.tsx'
import { When } from '../components/when.tsx'
import { tokensTexts as texts } from '../texts/en/tokens.ts'
import { useQuery } from '../use-query.ts'

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
      <p class="dim">{texts.about}</p>
      <Panel
        title={texts.title}
        aside={
          <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
            {texts.create}
          </button>
        }
      >
        <QueryResult query={query}>
          {({ tokens }) => <TokenList rows={tokens} onRevoke={(row) => setOpen({ what: 'revoke', row })} />}
        </QueryResult>
      </Panel>
      {open?.what === 'new' && <CreateTokenDialog onClose={close} onCreated={created} />}
      {open?.what === 'token' && (
        <ShownOnce title={texts.newToken} what={texts.theToken} text={open.token} onClose={close}>
          {texts.copyNow}
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
        <p>{texts.none}</p>
      </Empty>
    )
  return (
    <Table
      label={texts.title}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: texts.name,
          cell: ({ name, id }) => (
            <>
              <b class="breaks">{name}</b> <code>{id}</code>
            </>
          ),
        },
        {
          title: texts.role,
          cell: ({ role }) => <Pill tone={role === 'owner' ? 'live' : 'dim'}>{role}</Pill>,
        },
        { title: texts.state, cell: ({ state }) => <Pill tone={TONES[state]}>{texts.states[state]}</Pill> },
        { title: texts.addresses, cell: ({ allowed_ips }) => allowed_ips?.join(', ') ?? texts.anyAddress },
        { title: texts.madeBy, cell: ({ made_by }) => made_by },
        { title: texts.expires, cell: ({ expires_at }) => <When at={expires_at} /> },
        {
          title: texts.lastUsed,
          cell: ({ last_used_at }) => <When at={last_used_at} otherwise={texts.never} />,
        },
        {
          title: '',
          cell: (row) =>
            row.state === 'active' && (
              <span class="actions">
                <button
                  type="button"
                  class="small"
                  aria-label={texts.toRevokeLabel(row.name)}
                  onClick={() => onRevoke(row)}
                >
                  {texts.revoke}
                </button>
              </span>
            ),
        },
      ]}
    />
  )
}
