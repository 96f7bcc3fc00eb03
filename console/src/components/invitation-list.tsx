import { useState } from 'preact/hooks'
import type { OpenInvitation } from '../../../src/admin/shapes/session.ts'
import { useAppContext } from '../app-context.ts'
import { accountsTexts as texts } from '../texts/en/accounts.ts'
import { fill } from '../texts/fill.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm } from './dialog.tsx'
import { Pill } from './pill.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type ListProps = { readonly invitations: readonly OpenInvitation[]; readonly onDone: () => void }

export function InvitationList({ invitations, onDone }: ListProps) {
  const [chosen, setChosen] = useState<OpenInvitation>()
  const close = () => setChosen(undefined)
  const done = () => {
    close()
    onDone()
  }
  if (invitations.length === 0) return <p class="dim">{texts.noInvitations}</p>
  return (
    <>
      <Table
        label={texts.openInvitations}
        rows={invitations}
        keyOf={({ id }) => id}
        columns={[
          { title: texts.forWhom, cell: (invitation) => <b>{toPurpose(invitation)}</b> },
          {
            title: texts.role,
            cell: ({ role }) => <Pill tone={role === 'owner' ? 'live' : 'dim'}>{role}</Pill>,
          },
          { title: texts.createdBy, cell: ({ made_by }) => made_by },
          { title: texts.expires, cell: ({ expires_at }) => <When at={expires_at} /> },
          {
            title: '',
            cell: (invitation) => (
              <button
                type="button"
                class="small"
                aria-label={texts.toVoidLabel(toPurpose(invitation), invitation.id)}
                onClick={() => setChosen(invitation)}
              >
                {texts.void}
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
  account === null ? texts.newAccount : texts.toPasswordOf(account)

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
    <Confirm title={texts.voidTitle} verb={texts.void} mutation={mutation} onClose={onClose} isDanger>
      <p>{fill(texts.voidText, { invitation: toPurpose(invitation), madeby: invitation.made_by })}</p>
    </Confirm>
  )
}
