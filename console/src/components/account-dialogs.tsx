import { useState } from 'preact/hooks'
import type { Account, OneTimeLink } from '../../../src/admin/shapes/session.ts'
import type { Role } from '../../../src/contract/role.ts'
import type { Static } from '../../../src/contract/schema.ts'
import { useAppContext } from '../app-context.ts'
import { accountsTexts as texts } from '../texts/en/accounts.ts'
import { factorsTexts } from '../texts/en/factors.ts'
import { fill } from '../texts/fill.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm } from './dialog.tsx'
import { SelectField } from './field.tsx'

export type Link = Static<typeof OneTimeLink>

const ROLES = [
  { value: 'viewer', text: texts.viewer },
  { value: 'operator', text: texts.operator },
  { value: 'owner', text: texts.owner },
]

export function InviteDialog({ onClose, onLink }: { onClose: () => void; onLink: (link: Link) => void }) {
  const { api } = useAppContext()
  const [role, setRole] = useState('operator')
  const mutation = useMutation(async () => onLink(await api.post<Link>('/admin/invitations', { role })))
  return (
    <Confirm title={texts.invitationTitle} verb={texts.createLink} mutation={mutation} onClose={onClose}>
      <SelectField label={texts.role} value={role} onValue={setRole} options={ROLES} />
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
    <Confirm
      title={texts.toRoleTitle(account.name)}
      verb={texts.changeRole}
      mutation={mutation}
      onClose={onClose}
    >
      <SelectField label={texts.role} value={role} onValue={setRole} options={ROLES} />
    </Confirm>
  )
}

export function ResetDialog({ account, onClose, onLink }: AccountProps & { onLink: (link: Link) => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => onLink(await api.post<Link>(toPath(account, 'reset'))))
  return (
    <Confirm
      title={texts.toResetTitle(account.name)}
      verb={texts.createLink}
      mutation={mutation}
      onClose={onClose}
    >
      <p>{fill(texts.resetText, { name: account.name })}</p>
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
      title={texts.toRemoveTitle(account.name)}
      verb={texts.remove}
      mutation={mutation}
      onClose={onClose}
      typed={account.name}
      isDanger
    >
      <p>{texts.removeText}</p>
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
      title={factorsTexts.resetQuestion(account.name)}
      verb={factorsTexts.reset}
      mutation={mutation}
      onClose={onClose}
      isDanger
    >
      <p>{factorsTexts.resetEffect(account.name)}</p>
    </Confirm>
  )
}
