import { useState } from 'preact/hooks'
import type { Account, Accounts as AccountsShape, OpenInvitations } from '../../../../src/admin/accounts.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { SessionsDialog } from '../../components/session-list.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toMoment } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useQuery } from '../../use-query.ts'
import {
  InviteDialog,
  type Link,
  RemoveDialog,
  ResetDialog,
  ResetFactorsDialog,
  RoleDialog,
} from './account-dialogs.tsx'
import { InvitationList } from './invitation-list.tsx'

type Open =
  | { readonly what: 'invite' }
  | { readonly what: 'link'; readonly link: Link }
  | { readonly what: 'role' | 'reset' | 'remove' | 'sessions' | 'factors'; readonly account: Account }

export function Accounts() {
  const query = useQuery<Static<typeof AccountsShape>>('/admin/accounts')
  const invitations = useQuery<Static<typeof OpenInvitations>>('/admin/invitations')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    query.reload()
    invitations.reload()
  }
  const showLink = (link: Link) => {
    setOpen({ what: 'link', link })
    invitations.reload()
  }
  return (
    <>
      <Panel
        title="Accounts"
        aside={
          <button type="button" class="main push" onClick={() => setOpen({ what: 'invite' })}>
            Create invitation
          </button>
        }
      >
        <QueryResult query={query}>
          {({ accounts }) => <AccountList accounts={accounts} onOpen={setOpen} />}
        </QueryResult>
      </Panel>
      <Panel title="Open invitations">
        <QueryResult query={invitations} lines={2}>
          {({ invitations: links }) => <InvitationList invitations={links} onDone={invitations.reload} />}
        </QueryResult>
      </Panel>
      {open?.what === 'invite' && <InviteDialog onClose={close} onLink={showLink} />}
      {open?.what === 'link' && (
        <ShownOnce
          title="One-time link"
          what="the link"
          text={`${location.origin}/console${toHash('invite', open.link.token)}`}
          onClose={close}
        >
          {`Send it over a channel you trust. It works once, until ${toMoment(open.link.expires_at)}, and is not shown again.`}
        </ShownOnce>
      )}
      {open?.what === 'role' && <RoleDialog account={open.account} onClose={close} onDone={done} />}
      {open?.what === 'reset' && <ResetDialog account={open.account} onClose={close} onLink={showLink} />}
      {open?.what === 'sessions' && <SessionsDialog name={open.account.name} onClose={done} />}
      {open?.what === 'factors' && (
        <ResetFactorsDialog account={open.account} onClose={close} onDone={done} />
      )}
      {open?.what === 'remove' && <RemoveDialog account={open.account} onClose={close} onDone={done} />}
    </>
  )
}

function AccountList({ accounts, onOpen }: { accounts: readonly Account[]; onOpen: (open: Open) => void }) {
  const { session } = useAppContext()
  return (
    <Table
      label="Accounts"
      rows={accounts}
      keyOf={({ name }) => name}
      columns={[
        {
          title: 'Name',
          cell: ({ name }) => (
            <>
              <b>{name}</b> {name === session.name && <small class="dim">you</small>}
            </>
          ),
        },
        {
          title: 'Role',
          cell: ({ role }) => <Pill tone={role === 'owner' ? 'live' : 'dim'}>{role}</Pill>,
        },
        {
          title: 'Second factor',
          cell: ({ has_second_factor }) => (has_second_factor ? 'yes' : 'no'),
        },
        { title: 'Created', cell: ({ created_at }) => <When at={created_at} /> },
        {
          title: 'Last seen',
          cell: ({ last_seen_at }) => <When at={last_seen_at} otherwise="never" />,
        },
        { title: '', cell: (account) => <AccountActions account={account} onOpen={onOpen} /> },
      ]}
    />
  )
}

const ACTIONS = [
  { what: 'role', text: 'Change role' },
  { what: 'reset', text: 'Reset password' },
  { what: 'sessions', text: 'Sessions' },
  { what: 'factors', text: 'Reset second factor' },
  { what: 'remove', text: 'Remove' },
] as const

function AccountActions({ account, onOpen }: { account: Account; onOpen: (open: Open) => void }) {
  return (
    <span class="actions">
      {ACTIONS.filter(({ what }) => what !== 'factors' || account.has_second_factor).map(({ what, text }) => (
        <button
          key={what}
          type="button"
          class="small"
          aria-label={`${text}: ${account.name}`}
          onClick={() => onOpen({ what, account })}
        >
          {text}
        </button>
      ))}
    </span>
  )
}
