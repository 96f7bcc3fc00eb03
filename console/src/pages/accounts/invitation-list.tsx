import { useState } from 'preact/hooks'
import type { OpenInvitation } from '../../../../src/admin/accounts.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm } from '../../components/dialog.tsx'
import { Pill } from '../../components/pill.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { useMutation } from '../../use-mutation.ts'

type ListProps = { readonly invitations: readonly OpenInvitation[]; readonly onDone: () => void }

export function InvitationList({ invitations, onDone }: ListProps) {
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
