import { useState } from 'preact/hooks'
import type {
  Account,
  Accounts as AccountsShape,
  OneTimeLink,
  OpenInvitation,
  OpenInvitations,
} from '../../../../src/admin/accounts.ts'
import type { Role } from '../../../../src/contract/role.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm } from '../../components/dialog.tsx'
import { SelectField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { SessionsDialog } from '../../components/session-list.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toMoment } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

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
      file="accounts"
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
          exported: { Name: ({ name }) => name },
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

type Link = Static<typeof OneTimeLink>

const ROLES = [
  { value: 'viewer', text: 'Viewer: reads, changes nothing' },
  { value: 'operator', text: 'Operator: also changes keys, catalogue and sources' },
  { value: 'owner', text: 'Owner: also manages accounts and reveals records' },
]

function InviteDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: Link) => void }) {
  const { api } = useAppContext()
  const [role, setRole] = useState('operator')
  const mutation = useMutation(async () => onLink(await api.post<Link>('/admin/invitations', { role })))
  return (
    <Confirm title="Create an invitation" verb="Create link" mutation={mutation} onClose={onClose}>
      <SelectField label="Role" value={role} onValue={setRole} options={ROLES} />
    </Confirm>
  )
}

type AccountProps = { readonly account: Account; readonly onClose: () => void }

const toPath = ({ name }: Account, action: string) => `/admin/accounts/${encodeURIComponent(name)}/${action}`

function RoleDialog({ account, onClose, onDone }: AccountProps & { onDone: () => void }) {
  const { api, session, recheckSession } = useAppContext()
  const [role, setRole] = useState<string>(account.role)
  const mutation = useMutation(async () => {
    await api.post(toPath(account, 'role'), { role: role as Role })
    onDone()
    // A change of the own role ends this session.
    if (account.name === session.name) recheckSession()
  })
  return (
    <Confirm title={`Role of ${account.name}`} verb="Change role" mutation={mutation} onClose={onClose}>
      <SelectField label="Role" value={role} onValue={setRole} options={ROLES} />
    </Confirm>
  )
}

function ResetDialog({ account, onClose, onLink }: AccountProps & { onLink: (link: Link) => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => onLink(await api.post<Link>(toPath(account, 'reset'))))
  return (
    <Confirm
      title={`Reset the password of ${account.name}?`}
      verb="Create link"
      mutation={mutation}
      onClose={onClose}
    >
      <p>
        This creates a one-time link with which {account.name} sets a new password. The old password works
        until then.
      </p>
    </Confirm>
  )
}

function RemoveDialog({ account, onClose, onDone }: AccountProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(toPath(account, 'remove'))
    onDone()
  })
  return (
    <Confirm
      title={`Remove ${account.name}?`}
      verb="Remove"
      mutation={mutation}
      onClose={onClose}
      typed={account.name}
      isDanger
    >
      <p>The account and its sessions end at once. Its rows in the audit log remain.</p>
    </Confirm>
  )
}

function ResetFactorsDialog({ account, onClose, onDone }: AccountProps & { onDone: () => void }) {
  const { api, recheckSession } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(toPath(account, 'reset-factors'))
    onDone()
    // Of the own account, this session ends.
    recheckSession()
  })
  return (
    <Confirm
      title={`Delete the second factors of ${account.name}?`}
      verb="Reset second factor"
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>
        Use this if {account.name} has lost all second factors. Check first that the request comes from{' '}
        {account.name}: afterwards the password alone is enough to sign in. All sessions of {account.name}{' '}
        end.
      </p>
    </Confirm>
  )
}

type ListProps = { readonly invitations: readonly OpenInvitation[]; readonly onDone: () => void }

function InvitationList({ invitations, onDone }: ListProps) {
  const [chosen, setChosen] = useState<OpenInvitation>()
  const close = () => setChosen(undefined)
  const done = () => {
    close()
    onDone()
  }
  if (invitations.length === 0) return <p class="dim">There are no open invitations.</p>
  return (
    <>
      <Table
        label="Open invitations"
        file="invitations"
        rows={invitations}
        keyOf={({ id }) => id}
        columns={[
          { title: 'For', cell: (invitation) => <b>{toPurpose(invitation)}</b> },
          {
            title: 'Role',
            cell: ({ role }) => <Pill tone={role === 'owner' ? 'live' : 'dim'}>{role}</Pill>,
          },
          { title: 'Created by', cell: ({ made_by }) => made_by },
          { title: 'Expires', cell: ({ expires_at }) => <When at={expires_at} /> },
          {
            title: '',
            cell: (invitation) => (
              <button
                type="button"
                class="small"
                aria-label={`Void: ${toPurpose(invitation)}, ${invitation.id}`}
                onClick={() => setChosen(invitation)}
              >
                Void
              </button>
            ),
          },
        ]}
      />
      {chosen && <VoidDialog invitation={chosen} onClose={close} onDone={done} />}
    </>
  )
}

const toPurpose = ({ account }: OpenInvitation) =>
  account === null ? 'new account' : `password of ${account}`

type VoidProps = {
  readonly invitation: OpenInvitation
  readonly onClose: () => void
  readonly onDone: () => void
}

function VoidDialog({ invitation, onClose, onDone }: VoidProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/invitations/${encodeURIComponent(invitation.id)}/void`)
    onDone()
  })
  return (
    <Confirm title="Void this link?" verb="Void" mutation={mutation} onClose={onClose} isDanger>
      <p>
        The link for the {toPurpose(invitation)}, created by {invitation.made_by}, stops working at once.
      </p>
    </Confirm>
  )
}
