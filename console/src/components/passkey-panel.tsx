import { useState } from 'preact/hooks'
import type { Passkey, RecoveryCodes } from '../../../src/admin/second-factors.ts'
import { useAppContext } from '../app-context.ts'
import { createPasskey, hasPasskeys } from '../passkey.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm } from './dialog.tsx'
import { TextField } from './field.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type PasskeyListProps = {
  readonly passkeys: readonly Passkey[]
  readonly onRemove: (passkey: Passkey) => void
  readonly onAdd: () => void
}

export function PasskeyList({ passkeys, onRemove, onAdd }: PasskeyListProps) {
  return (
    <>
      <h3>Passkeys</h3>
      <p class="dim">
        A passkey signs in without a password: with the fingerprint, face or PIN of a device, or with a
        security key.
      </p>
      {passkeys.length === 0 ? (
        <p>Your account has no passkey.</p>
      ) : (
        <PasskeyTable passkeys={passkeys} onRemove={onRemove} />
      )}
      {hasPasskeys() ? (
        <button type="button" onClick={onAdd}>
          Add a passkey
        </button>
      ) : (
        <p class="dim">
          This browser offers passkeys only over https or at http://localhost, and not for an IP address.
        </p>
      )}
    </>
  )
}

function PasskeyTable({ passkeys, onRemove }: Omit<PasskeyListProps, 'onAdd'>) {
  return (
    <Table
      label="Passkeys"
      rows={passkeys}
      keyOf={({ id }) => id}
      columns={[
        { title: 'Name', cell: ({ name }) => <b class="breaks">{name}</b> },
        { title: 'For', cell: ({ host }) => host },
        { title: 'Added', cell: ({ created_at }) => <When at={created_at} /> },
        { title: 'Last used', cell: ({ last_used_at }) => <When at={last_used_at} otherwise="never" /> },
        {
          title: '',
          cell: (passkey) => (
            <button
              type="button"
              class="small"
              aria-label={`Remove the passkey ${passkey.name}`}
              onClick={() => onRemove(passkey)}
            >
              Remove
            </button>
          ),
        },
      ]}
    />
  )
}

type AddProps = { readonly onClose: () => void; readonly onDone: (codes: readonly string[]) => void }

export function AddPasskey({ onClose, onDone }: AddProps) {
  const { api } = useAppContext()
  const [name, setName] = useState('')
  const add = useMutation(async () => {
    const response = await createPasskey(api)
    const body = { name: name.trim(), response }
    onDone((await api.post<RecoveryCodes>('/admin/session/factors/passkeys/add', body)).recovery_codes)
  })
  return (
    <Confirm title="Add a passkey" verb="Add a passkey" mutation={add} onClose={onClose}>
      <TextField
        label="Name"
        help="To tell your passkeys apart, for example: work laptop."
        value={name}
        onValue={setName}
        maxLength={60}
        required
      />
    </Confirm>
  )
}

type RemoveProps = { readonly passkey: Passkey; readonly onClose: () => void; readonly onDone: () => void }

export function RemovePasskey({ passkey, onClose, onDone }: RemoveProps) {
  const { api } = useAppContext()
  const remove = useMutation(async () => {
    await api.post('/admin/session/factors/passkeys/remove', { id: passkey.id })
    onDone()
  })
  return (
    <Confirm
      title={`Remove the passkey ${passkey.name}?`}
      verb="Remove"
      mutation={remove}
      onClose={onClose}
      isDanger
    >
      <p>It no longer signs in. Delete it on the device too.</p>
    </Confirm>
  )
}
