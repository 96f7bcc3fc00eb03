import { useState } from 'preact/hooks'
import type { Account, OneTimeLink } from '../../../../src/admin/accounts.ts'
import type { Role } from '../../../../src/contract/role.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm } from '../../components/dialog.tsx'
import { SelectField } from '../../components/field.tsx'
import { useMutation } from '../../use-mutation.ts'

export type Link = Static<typeof OneTimeLink>

const ROLES = [
  { value: 'viewer', text: 'Viewer: reads, changes nothing' },
  { value: 'operator', text: 'Operator: also changes keys, catalogue and sources' },
  { value: 'owner', text: 'Owner: also manages accounts and reveals records' },
]

export function InviteDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: Link) => void }) {
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

export function RoleDialog({ account, onClose, onDone }: AccountProps & { onDone: () => void }) {
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

export function ResetDialog({ account, onClose, onLink }: AccountProps & { onLink: (link: Link) => void }) {
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

export function RemoveDialog({ account, onClose, onDone }: AccountProps & { onDone: () => void }) {
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

export function ResetFactorsDialog({ account, onClose, onDone }: AccountProps & { onDone: () => void }) {
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
