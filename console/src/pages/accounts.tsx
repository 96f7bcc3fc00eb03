import { useState } from 'preact/hooks'
import type {
  Account,
  Accounts as AccountsShape,
  OneTimeLink,
  OpenInvitations,
} from '../../../src/admin/shapes/session.ts'
import type { Role } from '../../../src/contract/role.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useAppContext } from '../app-context.ts'
import { Confirm } from '../components/dialog.tsx'
import { SelectField } from '../components/field.tsx'
import { InvitationList } from '../components/invitation-list.tsx'
import { Panel, Pill, When } from '../components/pieces.tsx'
import { ShownOnce } from '../components/shown-once.tsx'
import { QueryResult } from '../components/states.tsx'
import { Table } from '../components/table.tsx'
import { toMoment } from '../format.ts'
import { toHash } from '../route.ts'
import { useMutation } from '../use-mutation.ts'
import { useQuery } from '../use-query.ts'

type Link = Static<typeof OneTimeLink>
type Open =
  | { readonly what: 'invite' }
  | { readonly what: 'link'; readonly link: Link }
  | { readonly what: 'role' | 'reset' | 'remove'; readonly account: Account }

const ROLES = [
  { value: 'viewer', text: 'Viewer: looks, changes nothing' },
  { value: 'operator', text: 'Operator: runs it day by day' },
  { value: 'owner', text: 'Owner: also manages people, sees records in the clear' },
]

export function Accounts() {
  const answer = useQuery<Static<typeof AccountsShape>>('/admin/accounts')
  const invitations = useQuery<Static<typeof OpenInvitations>>('/admin/invitations')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const done = () => {
    close()
    answer.reload()
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
            Invite somebody
          </button>
        }
      >
        <QueryResult answer={answer}>
          {({ accounts }) => <AccountList accounts={accounts} onOpen={setOpen} />}
        </QueryResult>
      </Panel>
      <Panel title="Open invitations">
        <QueryResult answer={invitations} lines={2}>
          {({ invitations: links }) => <InvitationList invitations={links} onDone={invitations.reload} />}
        </QueryResult>
      </Panel>
      {open?.what === 'invite' && <InviteDialog onClose={close} onLink={showLink} />}
      {open?.what === 'link' && (
        <ShownOnce
          title="A one-time link"
          what="the link"
          text={`${location.origin}/console${toHash('invite', open.link.token)}`}
          onClose={close}
        >
          Give it to the person over a channel that you trust. It can be used once, until{' '}
          {toMoment(open.link.expires_at)}, and is not shown again.
        </ShownOnce>
      )}
      {open?.what === 'role' && <RoleDialog account={open.account} onClose={close} onDone={done} />}
      {open?.what === 'reset' && <ResetDialog account={open.account} onClose={close} onLink={showLink} />}
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
        { title: 'Role', cell: ({ role }) => <Pill tone={role === 'owner' ? 'live' : 'dim'}>{role}</Pill> },
        { title: 'Made', cell: ({ created_at }) => <When at={created_at} /> },
        { title: 'Last seen', cell: ({ last_seen_at }) => <When at={last_seen_at} otherwise="never" /> },
        { title: '', cell: (account) => <AccountActions account={account} onOpen={onOpen} /> },
      ]}
    />
  )
}

const ACTIONS = [
  { what: 'role', text: 'Change role' },
  { what: 'reset', text: 'Reset password' },
  { what: 'remove', text: 'Remove' },
] as const

function AccountActions({ account, onOpen }: { account: Account; onOpen: (open: Open) => void }) {
  return (
    <span class="actions">
      {ACTIONS.map(({ what, text }) => (
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

function InviteDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: Link) => void }) {
  const { api } = useAppContext()
  const [role, setRole] = useState('operator')
  const mutation = useMutation(async () => onLink(await api.post<Link>('/admin/invitations', { role })))
  return (
    <Confirm title="Invite somebody" verb="Make a link" mutation={mutation} onClose={onClose}>
      <SelectField label="Role" value={role} onValue={setRole} options={ROLES} />
    </Confirm>
  )
}

type OneProps = { readonly account: Account; readonly onClose: () => void }

const toPath = ({ name }: Account, mutation: string) =>
  `/admin/accounts/${encodeURIComponent(name)}/${mutation}`

function RoleDialog({ account, onClose, onDone }: OneProps & { onDone: () => void }) {
  const { api, session, recheck } = useAppContext()
  const [role, setRole] = useState<string>(account.role)
  const mutation = useMutation(async () => {
    await api.post(toPath(account, 'role'), { role: role as Role })
    onDone()
    // Whoever changes their own role sees other rooms from now on.
    if (account.name === session.name) recheck()
  })
  return (
    <Confirm title={`Role of ${account.name}`} verb="Change role" mutation={mutation} onClose={onClose}>
      <SelectField label="Role" value={role} onValue={setRole} options={ROLES} />
    </Confirm>
  )
}

function ResetDialog({ account, onClose, onLink }: OneProps & { onLink: (link: Link) => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => onLink(await api.post<Link>(toPath(account, 'reset'))))
  return (
    <Confirm
      title={`Reset the password of ${account.name}?`}
      verb="Make a link"
      mutation={mutation}
      onClose={onClose}
    >
      <p>A one-time link lets {account.name} choose a new password. The old one goes on until then.</p>
    </Confirm>
  )
}

function RemoveDialog({ account, onClose, onDone }: OneProps & { onDone: () => void }) {
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
      <p>The account and its sessions end at once. What it did stays in the audit.</p>
    </Confirm>
  )
}
